/**
 * Describes a plugin, signs it, and verifies it before any of its classes is loaded.
 *
 * <pre>
 *   metrics.jar            metrics.jar.plugin                     cluster
 *   ┌──────────┐  digest  ┌──────────────────────────┐  key id  ┌────────────┐
 *   │ bundle   │ ◀─────── │ manifest                 │ ───────▶ │ TrustRoots │
 *   └──────────┘   size   │   name, version, digest  │          └────────────┘
 *                         │   organs, roles          │  or, for what came with the platform:
 *                         │   packages, platform     │          ┌──────────────────────────┐
 *                         │ key id, signature        │ ───────▶ │ digests the distribution │
 *                         └──────────────────────────┘          │ lists                    │
 *                                                               └──────────────────────────┘
 * </pre>
 *
 * <p>A plugin is a bundle and a manifest in a file beside it. The bundle says by capabilities which
 * organ or role it provides and which platform it needs ({@link
 * dev.polis.plugins.manifest.BundleCapabilities}), so that the framework's resolver checks it; a
 * bundle's name plays no role, so that foreign plugins have the same rights. The manifest repeats
 * this for the decisions without the bundle: those of the leader, and of a node before it fetches
 * the file. The verifier refuses a manifest that contradicts its bundle. A plugin that an earlier
 * release has packed has these facts only in its manifest, and stays valid. {@link
 * dev.polis.plugins.manifest.PluginVerifier} reads the bundle as a file, never as code, and refuses
 * with a {@link dev.polis.plugins.manifest.RefusalReason} and a sentence. It looks at nothing but
 * the envelope before the signature is verified.
 *
 * <p>Not promised: a verified plugin is one that a trusted person has signed, not one that is free
 * of errors or of bad intent. A signature does not expire; a key that is no longer trusted is
 * removed from the cluster. The bundle's file must not change between the verification and its use:
 * the plugin store compares the digest again when it takes the file in.
 *
 * <p>Why not the signatures of jar files? They sign each entry, so that an entry can be left out or
 * an unsigned one added, they need the archive to be read before anything is known about it, and
 * they need certificates, which expire. Why not a header in the bundle's own manifest? A file
 * cannot hold its own digest.
 */
@Export
@Version("1.2.0")
package dev.polis.plugins.manifest;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
