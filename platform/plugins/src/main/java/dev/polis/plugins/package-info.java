/**
 * Sees and moves the bundles of a running node.
 *
 * <pre>
 *   operator ──Plugins.List/Stop/Start──▶ management listener ──▶ PluginsService ──▶ BundleDirectory ──▶ framework
 * </pre>
 *
 * <p>Organs may be stopped and started; their manifests say which bundles are organs: an organ of
 * ours exports nothing, so no other bundle has classes from it. A bundle that exports packages
 * belongs to the platform; stopping it would stop half of the node, and is refused with the reason.
 *
 * <p>The two halves that need no framework lie in packages of their own, because the launcher uses
 * them before there is one: {@link dev.polis.plugins.store} and {@link dev.polis.plugins.plan}.
 *
 * <p>Not promised: a stop or start made here is not remembered, after a restart of the node the
 * current generation of the store counts again.
 *
 * <p>Why not the framework's own console? It knows no identity, no authorization and no audit.
 */
package dev.polis.plugins;
