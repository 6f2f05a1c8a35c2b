"""What only lessons use: rVAMP in one page, moving pictures, checks of exercises.

Nothing of the package imports from here, but for one method that opens the explorer.
"""
