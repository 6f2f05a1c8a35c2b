"""Tools of the lessons: rVAMP in one page, moving pictures, checks of exercises, and
fits that a chapter derives and the estimator makes for others.

Nothing of the package imports from here, but for one method that opens the explorer.
"""
