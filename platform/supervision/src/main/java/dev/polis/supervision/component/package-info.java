/**
 * Offers the node's one supervision tree as a service: the one class that knows the framework.
 *
 * <pre>
 *   LogTree, BootReport ──▶ SupervisionComponent ──offers──▶ Supervisor ◀── organs: organ("storage"), …
 *                                    │
 *                                    └── deactivated: every runnable is cancelled and awaited
 * </pre>
 *
 * <p>Not promised: a second tree. With two trees, two runnables could have the same name, and a
 * line of the log would not show which of them it means.
 *
 * <p>Why not in the package of the tree: its tests, the benchmarks and the command line use trees
 * without a framework, and as many as they like.
 */
package dev.polis.supervision.component;
