/**
 * Reads the keys of configurations from bundles, and converts a person's input into values of the
 * right type.
 *
 * <pre>
 *   bundle.jar!/OSGI-INF/metatype/*.xml ──▶ ConfigurationKeys ──▶ ConfigurationKey (type, limits, default)
 *                                                 │
 *   "dev.polis.metrics.port=7840" ────────────────┴──▶ Integer 7840, or a refusal: did you mean …
 * </pre>
 *
 * <p>The launcher checks the command line with it before a bundle is installed, and the swap engine
 * each change of a configuration on the running node.
 *
 * <p>Not promised: that an organ accepts a value of the right type; its activation refuses an
 * unusable value.
 *
 * <p>Why not the metatype service of OSGi? It reads bundles that are installed, and the command
 * line is checked before the framework starts.
 */
@Export
@Version("1.0.0")
package dev.polis.plugins.metatype;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
