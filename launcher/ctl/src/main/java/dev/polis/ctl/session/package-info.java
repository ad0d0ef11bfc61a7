/**
 * Gives each command what all of them need: whose cluster is meant, a channel to it, an answer in
 * the chosen format, and failures in plain words.
 *
 * <pre>
 *   CtlOptions ──▶ Contexts, state directory ──▶ CtlTarget (credentials, address)
 *                                                    │
 *                                                 Session ── calls ──▶ a node
 *                                                    │          │ fails
 *                     Document ◀── a command ◀───────┘     CallFailure ──▶ CtlException
 *                        │                                                 (text, ExitCode)
 *                     Output ──▶ table, wide, json, yaml
 * </pre>
 *
 * <p>A command is a {@code CtlCommand}, which knows the options and prints documents; one that asks
 * a node is a {@code SessionCommand}, and one that orders a swap a {@code SwapCommand}. {@code
 * Rows} describes the fields of a document once, for programs and for tables.
 *
 * <p>A session belongs to one run of one command, which closes it. {@code CallFailure} reads why a
 * call failed from what the machine shows about the address: who listens there, and whether it is
 * the node that is meant. While a node has no leader, {@code CuratorWatch} tells what it waits for.
 *
 * <p>A session accepts one node at each address: the node on this machine by its own files, a node
 * that the leader lists by its id, and at each other endpoint the node that answered there first,
 * which {@code KnownNodes} remembers.
 *
 * <p>Any node of a cluster serves a command: a curator that does not lead names the leader, and
 * {@code LeaderChannel} sends the call there, to that node and no other. {@code LeaderRoute} bounds
 * how often curators may refer a call.
 *
 * <p>Not promised: a session that outlives the leader's address. A command that follows for longer
 * opens its calls anew.
 *
 * <p>Why not one client that hides where an answer comes from: an operator must see whether the
 * leader, another node or this node's own files gave it.
 */
package dev.polis.ctl.session;
