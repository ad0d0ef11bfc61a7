/**
 * Implements the commands about plugins: pack, inspect, push, pin, swap, follow their rollout, and
 * the keys that sign them.
 *
 * <pre>
 *   on this machine     PluginPackCommand, PluginInspectCommand, PluginKeyCommand
 *                           │ file
 *   one node            PluginUpload ──▶ swap, adopt, remove ──▶ SwapCommand (stages, outcome)
 *                           │ digest
 *   the whole cluster   push, pin, unpin ──▶ PluginWanting ──▶ PluginFollow
 *                                              │                  │ reports of the nodes
 *                                           PluginSetView ──▶ PluginSetRows ──▶ Document
 * </pre>
 *
 * <p>A file is verified here before it is sent, so that a damaged one is refused by {@code push}
 * and {@code swap} with the same message. {@code PluginChoice} turns a name into one version, and
 * suggests names that are alike.
 *
 * <p>Not promised: that a rollout is over when its command is. An interrupted command stops
 * following; the nodes continue.
 *
 * <p>Why not one command for one node and for all: the first is undone by the next restart where
 * the cluster wants another version, and must not look like the second.
 */
package dev.polis.ctl.plugin;
