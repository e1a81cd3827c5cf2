# SPDX-License-Identifier: MIT
# Four writers of a database with a write-ahead log.

import os, sqlite3

def open_it():
    return sqlite3.connect("data.db", timeout=600, isolation_level=None)

base = open_it()
print(base.execute("pragma journal_mode=wal").fetchone())
base.execute("create table t (who, n)")
base.close()
for who in range(4):
    if os.fork() == 0:
        base = open_it()
        for n in range(50):
            base.execute("begin immediate")
            base.execute("insert into t values (?, ?)", (who, n))
            base.execute("commit")
        os._exit(0)
print([os.wait()[1] for _ in range(4)])
base = open_it()
print(base.execute("select count(*), sum(n), count(distinct who) from t").fetchone())
print(base.execute("pragma wal_checkpoint(truncate)").fetchone(), base.execute("pragma integrity_check").fetchone())
