"""Hands the metadata of settings.ini to setuptools. Edit settings.ini, not this
file."""

import re
from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
SPDX = {"apache2": "Apache-2.0"}  # settings.ini uses nbdev's word for a licence
STATUS = {
    "1": "Planning",
    "2": "Pre-Alpha",
    "3": "Alpha",
    "4": "Beta",
    "5": "Production/Stable",
}
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")

RELATIVE = r"(?![a-z]+:|#)"  # what follows is no address
RAW = "raw.githubusercontent.com"  # where GitHub serves pictures

config = ConfigParser(delimiters=["="])
config.read(HERE / "settings.ini", encoding="utf-8")
project = config["DEFAULT"]
extras = {
    name: project[f"{name}_requirements"].split()
    for name in ("course", "dask", "parquet", "dev", "site", "release")
}
extras["all"] = extras["course"] + extras["dask"] + extras["parquet"]
extras["dev"] += extras["all"]  # the tests


def absolute(text):
    """The text with its links and pictures as addresses in the repository at the tag of
    this version, for readers who do not stand in it.
    """
    tag = f"v{project['version']}"
    pictures = f"{project['git_url'].replace('github.com', RAW)}/{tag}/"
    files = f"{project['git_url']}/blob/{tag}/"
    text = re.sub(rf"(!\[[^]]*\]\(){RELATIVE}", rf"\g<1>{pictures}", text)
    return re.sub(rf"(\]\(){RELATIVE}", rf"\g<1>{files}", text)


setup(
    # A package whose place is named is installed editable by its folder, which type
    # checkers can read; without it setuptools writes an import hook, which they cannot.
    package_dir={"": "."},
    packages=find_packages(include=[project["lib_path"], project["lib_path"] + ".*"]),
    package_data={"": ["*.js", "*.json", "*.pyi", "py.typed"]},
    version=project["version"],
    description=project["description"],
    long_description=absolute((HERE / "README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
    author=project["author"],
    author_email=project["author_email"],
    license_expression=SPDX[project["license"]],
    keywords=project["keywords"].split(),
    project_urls={
        "Documentation": project["doc_host"] + project["doc_baseurl"],
        "Source": project["git_url"],
        "Issues": f"{project['git_url']}/issues",
        "Changelog": f"{project['git_url']}/blob/{project['branch']}/CHANGELOG.md",
    },
    classifiers=[
        f"Development Status :: {project['status']} - {STATUS[project['status']]}",
        f"Intended Audience :: {project['audience']}",
        f"Natural Language :: {project['language']}",
        "Operating System :: OS Independent",
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
        *(f"Programming Language :: Python :: {version}" for version in PYTHONS),
    ],
    install_requires=project["requirements"].split(),
    extras_require=extras,
    entry_points={
        "console_scripts": project["console_scripts"].split(),
        # lets other nbdev sites link here
        "nbdev": [f"{project['lib_path']}={project['lib_path']}._modidx:d"],
    },
)
