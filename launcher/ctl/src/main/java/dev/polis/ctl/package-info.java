/**
 * Implements polisctl, the operator's command line.
 *
 * <pre>
 *   Ctl (options every command has) ─┬─ TakeOwnershipCommand   AAA
 *                                    ├─ HealthCommand          Management
 *                                    ├─ Node…Command           Management, NodeManagement
 *                                    ├─ Etcd…Command           Etcd
 *                                    └─ …
 *        each: Session (context → channel) ──▶ Document ──▶ Output (table, json, yaml)
 * </pre>
 *
 * <p>A command fetches, builds one {@link dev.polis.ctl.session.Document} and prints it; the format
 * is the reader's choice and never changes what is fetched. Failures end in one line on standard
 * error that says what was refused and what to do next, and in an exit code scripts can rely on
 * ({@link dev.polis.ctl.session.ExitCode}).
 *
 * <p>The packages below hold the commands by subject, and {@code session} what all of them use.
 * None of them uses this one, which lists the commands and runs one, except {@code local}: a
 * program of its own that runs several.
 *
 * <p>Not promised: that the table's columns stay as they are. Scripts read {@code -o json}.
 */
package dev.polis.ctl;
