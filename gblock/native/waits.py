"""The system functions that wait, by kind of wait (POSIX.1-2024, Linux man-pages).

Functions that only protect data for a moment, such as a mutex of one process, an allocation or
Python's own API, are not listed: nearly all code calls them, so they prove nothing.
"""

from __future__ import annotations

import re

_BY_CLASS = {
    "network": """
        poll ppoll __poll_chk __ppoll_chk select pselect epoll_wait epoll_pwait epoll_pwait2
        connect accept accept4 recv recvfrom recvmsg recvmmsg __recv_chk __recvfrom_chk
        send sendto sendmsg sendmmsg io_getevents
        getaddrinfo gethostbyname gethostbyname_r gethostbyname2 gethostbyname2_r gethostbyaddr
        gethostbyaddr_r getnameinfo res_query res_search __res_query __res_search res_nquery
        res_nsearch __res_nquery __res_nsearch""",
    "time": "clock_nanosleep sleep pause sigsuspend thrd_sleep",
    "thread": """
        pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait cnd_wait cnd_timedwait
        sem_wait sem_timedwait sem_clockwait pthread_join pthread_timedjoin_np
        pthread_barrier_wait thrd_join
        _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE _ZNSt6thread4joinEv""",
    "process": """
        waitpid wait wait3 wait4 waitid system pclose
        semop semtimedop msgrcv msgsnd mq_receive mq_timedreceive mq_send mq_timedsend
        sigwait sigwaitinfo sigtimedwait""",
    "disk": "fsync fdatasync msync syncfs sync sync_file_range flock lockf lockf64 tcdrain",
    "driver": """
        SQLConnect SQLConnectW SQLDriverConnect SQLDriverConnectW SQLBrowseConnect SQLDisconnect
        SQLExecute SQLExecDirect SQLExecDirectW SQLPrepare SQLPrepareW SQLFetch SQLFetchScroll
        SQLMoreResults SQLEndTran SQLParamData SQLPutData SQLGetData SQLTables SQLTablesW
        SQLColumns SQLColumnsW SQLStatistics SQLStatisticsW SQLPrimaryKeys SQLPrimaryKeysW
        SQLForeignKeys SQLForeignKeysW SQLProcedures SQLProceduresW SQLProcedureColumns
        SQLProcedureColumnsW SQLGetTypeInfo SQLGetTypeInfoW SQLSpecialColumns SQLSpecialColumnsW
        SQLDescribeParam""",
}
"""``driver``: the call-level interface of ODBC (ISO/IEC 9075-3), whose manager passes the calls
to a driver that it loads at run time."""
_SHARED_LOCKS = (
    "pthread_mutex_lock pthread_mutex_timedlock pthread_rwlock_rdlock pthread_rwlock_wrlock"
)

CLASSES = {name: key for key, names in _BY_CLASS.items() for name in names.split()}
"""The kind of wait of each function."""
SHARED = dict.fromkeys(_SHARED_LOCKS.split(), "process")
"""Locks that wait for other processes if a library creates them shared between processes."""
MAKES_SHARED = frozenset({"pthread_mutexattr_setpshared", "pthread_mutexattr_setrobust"})
NAMES = (*CLASSES, *SHARED)
BIT = {name: 1 << at for at, name in enumerate(NAMES)}
"""The bit of each wait: sets of waits are stored as the bits of a number."""
UNKNOWN = 1 << len(NAMES)
"""A call through a pointer of unknown value."""
EVERY = UNKNOWN - 1

RELEASE = frozenset({"PyEval_SaveThread", "PyEval_ReleaseThread", "PyEval_ReleaseLock"})
TAKE = frozenset({"PyEval_RestoreThread", "PyEval_AcquireThread", "PyEval_AcquireLock"})
ENSURE, LEAVE = "PyGILState_Ensure", "PyGILState_Release"
GIL = RELEASE | TAKE | {ENSURE, LEAVE}
"""Functions that change the holder of the GIL (Python/C API, "Thread State and the GIL")."""
ENTROPY = frozenset({"poll", "select"})
"""Waits of these functions for ``/dev/urandom`` happen at most once after boot."""
RANDOM = frozenset({"getrandom", "getentropy"})
_ONCE = re.compile(
    r"PyOnceLock|GILOnceCell|OnceLockExt|OnceExt|LazyTypeObject|lazy_type_object|call_once"
    r"|PyErrState|init_once_cell_py_attached|hashmap_random_keys|\dgetrandom"
    r"|std.*sync.*[oO]nce|panicking|begin_unwind|rust_panic|_ZSt9terminatev|^abort$|^__assert_fail$"
)


def is_aside(function: str) -> bool:
    """Return whether a function belongs to set-up or exit, rather than to a call.

    It runs once in a process, or on the way to its end.
    """
    return _ONCE.search(function) is not None


def spelled(name: str) -> str:
    """Return a function's readable name: C++ and fortified functions have two."""
    if name.startswith("_ZNSt18condition_variable"):
        return "std::condition_variable::wait"
    if name.startswith("_ZNSt6thread4join"):
        return "std::thread::join"
    return name.removeprefix("__").removesuffix("_chk")


def names(mask: int) -> tuple[str, ...]:
    """Return the readable names of the functions whose bits are set, without duplicates."""
    return tuple(dict.fromkeys(spelled(name) for name in NAMES if mask & BIT[name]))
