/**
 * Sees and moves the bundles of a running node.
 *
 * <pre>
 *   operator ──Plugins.List/Stop/Start──▶ management listener ──▶ PluginsService ──▶ BundleDirectory ──▶ framework
 * </pre>
 *
 * <p>Organs may be stopped and started. Which bundles are organs or roles is said by the plugin
 * manifests beside their files, never guessed from a name; one from outside is an equal. All other
 * bundles belong to the platform; stopping one would stop half of the node, and is refused with the
 * reason.
 *
 * <p>The parts that need no framework lie in packages of their own, because the launcher and the
 * command line use them where there is none: {@link dev.polis.plugins.store}, {@link
 * dev.polis.plugins.plan} and {@link dev.polis.plugins.manifest}.
 *
 * <p>Not promised: a stop or start made here is not remembered, after a restart of the node the
 * current generation of the store counts again.
 *
 * <p>Why not the framework's own console? It knows no identity, no authorization and no audit.
 */
package dev.polis.plugins;
