"""What a user of the package may do in a day, a line each; test_lowest.py runs it with
the oldest versions allowed.
"""

import numpy as np
import pandas as pd
from scipy.sparse import coo_matrix
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rvamp_nb import BaggedClassifier, StabilitySelection, naive_bootstrap, p2, rvamp
from rvamp_nb.course.pictures import sliders
from rvamp_nb.course.widgets import diabetes_explorer, explore
from rvamp_nb.datasets import gaussian_design

data = gaussian_design(200, 12, rho=0.3, density=0, seed=1)
y = data.A[:, :3] @ [3.0, -2.0, 2.0] + data.y / data.y.std() * 0.1
table = pd.DataFrame(data.A, columns=[f"gene {k}" for k in range(12)])
true = ["gene 0", "gene 1", "gene 2"]

pipeline = make_pipeline(StandardScaler(), StabilitySelection(q=4), LinearRegression())
pipeline.set_output(transform="pandas")
score = pipeline.fit(table, y).score(table, y)
assert score > 0.7, score
selector = pipeline[1]
assert list(selector.get_feature_names_out()) == true
selector.plot_path()
assert len(selector.summary()) == 12
assert selector.refine(None, 20, verbose=False).interval().shape == (12, 2)

health = np.where(y > 0, "ill", "well")
classes = StabilitySelection(loss="logistic", lambdas=10).fit(table, health)
assert {"gene 0"} <= set(classes.get_feature_names_out()) <= set(true)
assert BaggedClassifier(classes).predict_proba(table).shape == (200, 2)

lam = 0.3 * np.abs(data.A.T @ y).max() / 2
fit = rvamp(data.A, y, lam)
refits = naive_bootstrap(data.A, y, lam, n_resamples=200, keep=[0, 1], n_jobs=2)
assert np.abs(fit.Pi - refits.Pi).max() < 0.2
assert p2(fit).covariance.shape == (12, 12)
assert np.allclose(rvamp(coo_matrix(data.A), y, lam).Pi, fit.Pi, atol=1e-5)

explore(fit, list(table), shown=[0, 1], refits=refits.draws)
diabetes_explorer()
sliders(lambda k: print(k), k=(0, 3, 1, 1))
print("all done")
