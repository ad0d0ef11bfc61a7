/**
 * Reads the options of {@code run}, and makes configurations of organs of them.
 *
 * <pre>
 *   --state, --address, …  ─▶ NodeOptions ──▶ NodeSettings ──▶ a dictionary for each PID
 *   --set PID.key=value    ─▶      │               ▲
 *   the started generation ────────┘               └ the keys and types that the bundles declare
 *   --recovery-key -       ─▶ RecoveryKeyInput ──▶ standard input of this process, for the organ
 * </pre>
 *
 * <p>A value of the generation overrules the command line: an operator configured it later, on the
 * running node.
 *
 * <p>Not promised: that an organ accepts a value. The launcher checks names and types; the organ
 * checks limits that its metatype does not declare.
 *
 * <p>Why not configuration files for each organ: the command line is one place that a restart
 * repeats, and it refuses a key that no bundle has.
 */
package dev.polis.node.options;
