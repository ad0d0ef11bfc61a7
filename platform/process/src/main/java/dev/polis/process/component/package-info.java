/**
 * Wires the process manager into the framework.
 *
 * <pre>
 *   configuration "records" ──┐
 *                             ├──▶ ProcessComponent ──offers──▶ ProcessManager
 *   LogTree ──────────────────┘            │
 *                                          └── deactivated: tails end, processes keep running
 * </pre>
 *
 * <p>Not promised: that a process ends with this component. Children outlive the code that started
 * them; only the code that started one ends it, and {@code polis down}.
 *
 * <p>Why not in the package of the manager: the launcher reads records of processes before there is
 * a framework, and the tests run the manager without one; neither has the annotations' classes.
 */
package dev.polis.process.component;
