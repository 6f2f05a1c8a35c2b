"""Files of eight studies as a hospital keeps them, with effects that were planted, and
the line that somebody who has read README would type first.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd


class Study(NamedTuple):
    """What writes the files of a study, its first line, the columns with an effect."""

    write: object
    line: str
    planted: tuple


def _labs(values, names):
    """Return amounts (M, n), above 0, as a laboratory reports them."""
    return pd.DataFrame(np.exp(0.4 * values + 1.5).round(2), columns=names)


def _with_gaps(rng, column, share, code=""):
    """Return a column as text, a share of its cells replaced by the code of a gap."""
    return column.astype(str).mask(rng.random(len(column)) < share, code)


def _below(column, limit):
    """Return a column as text, numbers below the limit as <limit."""
    return column.astype(str).mask(column < limit, f"<{limit:g}")


def readmission():
    """Write a table of patients with words, a date, gaps, codes of gaps and notes."""
    rng = np.random.default_rng(831)
    M = 320
    blood = "CRP eGFR Hb Na K ALT AST albumin glucose TSH ferritin WBC BNP urea".split()
    values = rng.normal(size=(M, len(blood)))
    labs = _labs(values, blood)
    smoking = rng.choice(["never", "ex", "current"], size=M, p=[0.5, 0.3, 0.2])
    days = pd.to_datetime("2023-01-01") + pd.to_timedelta(rng.integers(0, 600, M), "D")
    odds = 1.4 * values[:, 12] - 1.2 * values[:, 7] + 1.2 * (smoking == "current") - 0.5
    back = rng.logistic(size=M) < odds
    table = pd.DataFrame({"MRN": [f"MRN{100_000 + 7 * k}" for k in range(M)]})
    table["admitted"] = days.strftime("%d/%m/%Y")
    table["sex"] = rng.choice(["F", "M"], size=M)
    table["smoking"] = _with_gaps(rng, pd.Series(smoking), 0.03)
    table["ward"] = rng.choice(["A", "B", "C", "D"], size=M)
    table["age"] = rng.integers(35, 90, size=M)
    table = table.join(labs)
    table["CRP"] = _below(labs["CRP"], 3)
    table["albumin"] = _with_gaps(rng, labs["albumin"], 0.04)
    table.loc[rng.choice(M, 4, replace=False), "eGFR"] = -99
    table["notes"] = _with_gaps(rng, pd.Series(["fell, at home"] * M), 0.8)
    table["readmitted_30d"] = np.where(back, "Yes", "No")
    table.to_csv("clinic.csv", index=False)


def expression():
    """Write genes in rows, samples in columns, and a second file about the samples."""
    rng = np.random.default_rng(832)
    M = 120
    values = rng.normal(size=(M, 300))
    samples = [f"GSM{4000 + k}" for k in range(M)]
    genes = pd.DataFrame(values.T.round(3), columns=samples)
    genes.insert(0, "gene", [f"G{k:03d}" for k in range(300)])
    genes.to_csv("genes.csv", index=False)
    odds = 3 * values[:, 4] - 3 * values[:, 77]
    about = pd.DataFrame({"sample": samples})
    about["batch"] = rng.choice(["b1", "b2", "b3"], size=M)
    answer = rng.logistic(size=M) < odds
    about["response"] = np.where(answer, "responder", "non-responder")
    about.sample(frac=1, random_state=1).to_csv("samples.csv", index=False)


def late_entry():
    """Write survival times from three centres, with dates, and rows that enter late."""
    rng = np.random.default_rng(833)
    M = 300
    values = rng.normal(size=(M, 12)).round(3)
    names = [f"marker_{k}" for k in range(1, 13)]
    table = pd.DataFrame(values, columns=names)
    centre = rng.choice(["Paris", "Lyon", "Lille"], size=M, p=[0.5, 0.3, 0.2])
    rate = pd.Series(centre).map({"Paris": 0.002, "Lyon": 0.004, "Lille": 0.02})
    death = rng.exponential(
        1 / (rate * np.exp(0.7 * values[:, 0] - 0.6 * values[:, 1]))
    )
    end = rng.uniform(100, 1500, size=M)
    referred = np.round(rng.exponential(8, size=M))
    diagnosis = pd.to_datetime("2015-01-01") + pd.to_timedelta(
        rng.integers(0, 1500, M), "D"
    )
    table.insert(0, "pid", [f"S{k}" for k in range(M)])
    table.insert(1, "centre", centre)
    table.insert(2, "sex", rng.choice(["f", "m"], size=M))
    table["diagnosis_date"] = diagnosis.strftime("%Y-%m-%d")
    table["days_entry"] = referred
    table["days"] = np.round(np.minimum(death, end))
    table["status"] = np.where(death <= end, "dead", "alive")
    table.to_csv("cohort.csv", index=False)


def spectra():
    """Write bands of spectra of three tissues, read by four operators."""
    rng = np.random.default_rng(834)
    M = 300
    values = rng.normal(size=(M, 15)).round(3)
    names = [f"band{b}_{k}" for b in range(1, 4) for k in range(1, 6)]
    scores = np.zeros((M, 3))
    scores[:, 1] = 2 * values[:, 0]
    scores[:, 2] = 2 * values[:, 12]
    chosen = (scores + rng.gumbel(size=(M, 3))).argmax(1)
    table = pd.DataFrame(values, columns=names)
    table.insert(0, "spectrum", [f"sp{k:04d}" for k in range(M)])
    table["operator"] = rng.choice(["AK", "BM", "CS", "DL"], size=M)
    table["tissue"] = np.array(["healthy", "adenoma", "carcinoma"])[chosen]
    table.to_csv("spectra.csv", index=False)


def falls():
    """Write counts of falls at several visits of each patient, over unequal times."""
    rng = np.random.default_rng(835)
    rows = []
    for k in range(80):
        level = 0.3 * rng.normal()
        own = rng.normal(size=12)
        for visit in range(rng.integers(1, 6)):
            x = 0.5 * own + rng.normal(size=12)
            days = rng.integers(15, 200)
            rate = np.exp(2 + level + 0.6 * x[0] - 0.6 * x[8]) / 365
            cells = [f"P{k:03d}", f"V{visit + 1}", days, *x.round(3)]
            rows.append([*cells, rng.poisson(days * rate)])
    names = ["patient", "visit", "days_at_risk", *(f"gait_{k}" for k in range(12))]
    pd.DataFrame(rows, columns=[*names, "falls"]).to_csv("falls.csv", index=False)


def trial():
    """Write a randomised trial: patients of five sites in one file, central laboratory
    values in another, some below a limit and some without a sample.
    """
    rng = np.random.default_rng(836)
    M = 320
    names = [f"sTM{k:02d}" for k in range(1, 25)]
    values = rng.normal(size=(M, 24))
    labs = _labs(values, names)
    subjects = [f"{101 + k % 5}-{k:04d}" for k in range(M)]
    site = pd.Series([f"site {101 + k % 5}" for k in range(M)])
    arm = rng.choice(["active", "placebo"], size=M)
    ecog = rng.choice([0, 1, 2], size=M, p=[0.4, 0.4, 0.2])
    risk = 0.7 * values[:, 2] - 0.6 * values[:, 18] - 0.6 * (arm == "active")
    risk += 0.4 * ecog + site.map(lambda name: 0.5 * (name == "site 103"))
    months = rng.exponential(9 * np.exp(-risk))
    end = rng.uniform(4, 30, size=M)
    people = pd.DataFrame({"USUBJID": subjects, "SITE": site, "ARM": arm})
    people["SEX"] = rng.choice(["F", "M"], size=M)
    people["AGE"] = rng.integers(38, 84, size=M)
    people["ECOG"] = ecog
    people["RANDDT"] = "2021-03-14"
    people["PFS_months"] = np.minimum(months, end).clip(0.1).round(1)
    people["PFS_status"] = np.where(months <= end, "progressed", "censored")
    people.to_csv("trial.csv", index=False)
    labs["sTM07"] = _below(labs["sTM07"], 3)
    labs["sTM11"] = _with_gaps(rng, labs["sTM11"], 0.03)
    labs.insert(0, "subject", subjects)
    labs.iloc[::-1].drop(index=[5, 9]).to_csv("lab.csv", index=False)


def matched_sets():
    """Write cases, each with three controls of its age and sex, in no order."""
    rng = np.random.default_rng(837)
    blood = "IL6 CRP leptin IGF1 SHBG vitamin_D folate B12 HDL LDL insulin GGT".split()
    tables = []
    for k in range(120):
        values = 0.7 * rng.normal(size=12) + rng.normal(size=(4, 12))
        smoking = rng.choice(["never", "former", "current"], size=4, p=[0.5, 0.3, 0.2])
        score = 0.9 * values[:, 0] - 0.9 * values[:, 5] + 0.9 * values[:, 10]
        table = _labs(values, blood)
        table.insert(0, "match_set", f"S{k + 1:03d}")
        table.insert(1, "age_at_blood", rng.integers(40, 75) + rng.integers(-2, 3, 4))
        table.insert(2, "sex", rng.choice(["F", "M"]))
        table.insert(3, "smoking", smoking)
        case = (score + (smoking == "current") + rng.gumbel(size=4)).argmax()
        table["status"] = np.where(np.arange(4) == case, "case", "control")
        tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    table["folate"] = _below(table["folate"], 2.2)
    table["vitamin_D"] = _with_gaps(rng, table["vitamin_D"], 0.03)
    table["smoking"] = _with_gaps(rng, table["smoking"], 0.02)
    table.insert(0, "sample_id", [f"BB{10_000 + 17 * k}" for k in range(480)])
    table.sample(frac=1, random_state=1).to_csv("nested.csv", index=False)


def proteomics():
    """Write proteins in rows with a limit of detection each, samples in columns, and a
    second file about the samples.
    """
    rng = np.random.default_rng(838)
    M = 120
    values = rng.normal(size=(M, 160))
    levels = np.exp(0.6 * values + rng.normal(size=160)).round(3)
    samples = [f"PL{1 + k % 3}_{k:03d}" for k in range(M)]
    proteins = pd.DataFrame(levels, samples, [f"P{k:05d}" for k in range(160)])
    limits = np.quantile(levels, rng.uniform(0, 0.5, size=160), axis=0).diagonal()
    cells = proteins.astype(str)
    for name, limit in zip(proteins, limits.round(2)):
        cells[name] = _below(proteins[name], limit)
    cells = cells.mask(rng.random(cells.shape) < 0.002, "NA")
    cells.T.rename_axis("protein").to_csv("proteins.tsv", sep="\t")
    logs = np.log(levels)
    slope = -2 + 2 * (logs[:, 31] - logs[:, 31].mean())
    slope += -2 * (logs[:, 120] - logs[:, 120].mean()) + 1.5 * rng.normal(size=M)
    about = pd.DataFrame({"sample_id": samples, "plate": [s[:3] for s in samples]})
    about["sex"] = rng.choice(["F", "M"], size=M)
    about["age"] = rng.integers(30, 80, size=M)
    about["eGFR_slope"] = slope.round(2)
    about.sample(frac=1, random_state=1).to_csv("samples.csv", index=False)


STUDIES = {
    "readmission": Study(
        readmission,
        "clinic.csv --target readmitted_30d",
        ("albumin", "BNP", "smoking=current"),
    ),
    "expression": Study(
        expression,
        "genes.csv --transpose --join samples.csv --on sample --target response",
        ("G004", "G077"),
    ),
    "late entry": Study(
        late_entry,
        "cohort.csv --time days --event status=dead --entry days_entry --strata centre",
        ("marker_1", "marker_2"),
    ),
    "spectra": Study(spectra, "spectra.csv --target tissue", ("band1_1", "band3_3")),
    "falls": Study(
        falls,
        "falls.csv --target falls --loss poisson --exposure days_at_risk"
        " --groups patient",
        ("gait_0", "gait_8"),
    ),
    "trial": Study(
        trial,
        "trial.csv --join lab.csv --on USUBJID=subject --time PFS_months"
        " --event PFS_status=progressed --strata SITE",
        ("sTM03", "sTM19", "ECOG", "ARM=placebo"),
    ),
    "matched sets": Study(
        matched_sets,
        "nested.csv --target status --matched match_set",
        ("IL6", "vitamin_D", "insulin", "smoking=current"),
    ),
    "proteomics": Study(
        proteomics,
        "proteins.tsv --transpose --join samples.csv --on sample_id"
        " --target eGFR_slope",
        ("P00031", "P00120"),
    ),
}
