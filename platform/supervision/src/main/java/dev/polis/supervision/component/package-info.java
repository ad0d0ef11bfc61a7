/**
 * Offers the node's one supervision tree as a service: the one class that knows the framework.
 *
 * <pre>
 *   LogTree, BootReport ──▶ SupervisionComponent ──offers──▶ Supervisor ◀── organs: organ("storage"), …
 *                                    │
 *                                    └── deactivated: every runnable is cancelled and awaited
 * </pre>
 *
 * <p>Not promised: a second tree. Two would have two runnables of one name, and nobody could say
 * which of them a line of the log is about.
 *
 * <p>Why not in the package of the tree: its tests, the benchmarks and the command line use trees
 * without a framework, and as many as they like.
 */
package dev.polis.supervision.component;
