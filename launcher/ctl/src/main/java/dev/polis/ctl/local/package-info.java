/**
 * Starts a cluster whose nodes all run on this machine, for a demonstration and for trying out.
 *
 * <pre>
 *   polis up --nodes N ──▶ LocalMain ──▶ LocalCluster ──▶ LocalNode ──▶ polis up --detach, per node
 *                                             │               └──▶ its state directory
 *                                             ├──▶ Operator ──▶ Ctl: takeownership, node approve …
 *                                             └──▶ Steps ──▶ the screen: a line for each wait
 * </pre>
 *
 * <p>Each step first looks whether its result is there, so a second call starts nodes that are down
 * and finishes what an interrupted call has left. The commands to the cluster are those that an
 * operator types, run in this process.
 *
 * <p>Not promised: that an approval is a decision. An operator compares the fingerprint that a node
 * shows with the one that the cluster has; here one program reads both.
 *
 * <p>Why not in the scripts: nodes start at the same time, and each wait has a limit, a cause and a
 * remedy.
 */
package dev.polis.ctl.local;
