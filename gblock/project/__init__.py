"""Analysis of the whole project with the standard library's ``ast``, without libcst."""
