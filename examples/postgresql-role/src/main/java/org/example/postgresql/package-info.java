/**
 * Runs PostgreSQL on the nodes to which the cluster gives the role PostgreSQL.
 *
 * <pre>
 *   role server ──runs──▶ PostgresRole ──┬── server   postgres, a child process that outlives this code
 *                                        └── check    asks it "select 1" and tells its health
 *
 *   data volume:  postgresql/{data/, password, pg_hba.conf}
 * </pre>
 *
 * <p>A run first makes what is missing: the folder, a password, the database cluster with initdb.
 * Then it starts the server, or adopts the one that an earlier version of this plugin started: it
 * has the same process id and its clients notice nothing. It ends the server only when the cluster
 * takes the role away or the node is switched off, and leaves the data where they are.
 *
 * <p>Not promised: encryption of connections, backups, an upgrade of the data to another major
 * version. Clients of the networks that the node is part of are let in with a password.
 *
 * <p>Why a child process and not a service of the machine: it comes with the role and goes with it,
 * and its data lie on the node's own volume.
 */
package org.example.postgresql;
