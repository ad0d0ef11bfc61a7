/**
 * Sees and moves the bundles of a running node.
 *
 * <pre>
 *   operator ──Plugins.List/Stop/Start──▶ management listener ──▶ PluginsService ──▶ BundleDirectory ──▶ framework
 * </pre>
 *
 * <p>Organs may be stopped and started, what they are is told by their manifests: an organ of ours
 * exports nothing, so nobody's classes come from it. What exports packages belongs to the platform;
 * stopping it would take half of the node along, and is refused in words.
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
