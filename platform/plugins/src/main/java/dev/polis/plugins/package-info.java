/**
 * Shows and moves the bundles of a running node.
 *
 * <pre>
 *   operator ──Plugins.List/Stop/Start──▶ management listener ──▶ PluginsService ──▶ BundleDirectory ──▶ framework
 * </pre>
 *
 * <p>Organs may be stopped and started. The plugin manifests beside the files name the organs and
 * roles, and the names of bundles play no role; a foreign plugin has the same rights. All other
 * bundles belong to the platform; stopping one would stop half of the node, and is refused with the
 * reason.
 *
 * <p>The parts that need no framework lie in packages of their own, because the launcher and the
 * command line use them where there is none: {@link dev.polis.plugins.store}, {@link
 * dev.polis.plugins.plan} and {@link dev.polis.plugins.manifest}.
 *
 * <p>Not promised: the node does not remember a stop or start: after a restart the current
 * generation of the store counts again.
 *
 * <p>Why not the framework's own console? It knows no identity, no authorization and no audit.
 */
package dev.polis.plugins;
