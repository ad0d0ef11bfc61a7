/**
 * Ends a command of the launcher: with an exit code, and with the root cause as its last line.
 *
 * <pre>
 *   Refusal ─── exit code, value, remedy ──▶ Main ──▶ "polis: …" on standard error, exit code
 *   any other ── RootCause: one line ───────▶   │     1
 *   failure                                     └ with its stack, unless it is an IOException
 * </pre>
 *
 * <p>The essay of {@code dev.polis.node} lists the codes. Scripts rely on them, so no code changes
 * its meaning.
 *
 * <p>Not promised: that a root cause is the innermost exception. A message of our own, which names
 * the value and the remedy, goes before the one of a library below it.
 *
 * <p>Why not one class of exception for each code: the launcher has one place that catches, and it
 * needs the number alone.
 */
package dev.polis.node.exit;
