/**
 * Shows one node on a full screen, for a person who stands at the machine.
 *
 * <pre>
 *   debug service ──▶ ConsoleFacts ─┐   once a second
 *                 ──▶ ConsoleLog ───┼─▶ ConsolePage ──▶ ConsoleScreen ──▶ terminal
 *   keys ─────────▶ ConsoleScreen ──┘   lines of text      (JLine)
 * </pre>
 *
 * <p>The page asks the debug service alone, which answers clients of its own machine without
 * credentials: a machine has no operator's key. So it shows what the node says of itself, also
 * before the node is a member and while the cluster is away, and it changes nothing. The one thing
 * that a person can give here is the recovery key, as a file for the next start of the node.
 *
 * <p>Not promised: the state of other nodes, and a shell.
 *
 * <p>Why not a page drawn by the node itself: it must show why the node does not run.
 */
package dev.polis.ctl.console;
