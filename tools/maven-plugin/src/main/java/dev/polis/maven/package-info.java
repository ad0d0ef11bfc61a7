/**
 * Packs plugins in a Maven build.
 *
 * <pre>
 *   bnd ──▶ target/metrics.jar ──polis:pack──▶ target/metrics.jar.plugin
 *                                   ▲
 *                        the project's private key
 * </pre>
 *
 * <p>The goal does what {@code polisctl plugin pack} does: both call {@link
 * dev.polis.plugins.manifest.PluginPacker}.
 *
 * <p>Not promised: that the key is a trusted one. Only the cluster knows that.
 *
 * <p>Why not a packaging of its own? A plugin is an ordinary bundle, and bnd builds those well.
 */
package dev.polis.maven;
