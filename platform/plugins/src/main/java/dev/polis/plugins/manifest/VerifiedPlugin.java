package dev.polis.plugins.manifest;

import java.nio.file.Path;

/**
 * Holds a plugin whose bundle is the one that its verified manifest names.
 *
 * @param bundle its file when it was verified
 * @param manifest its content
 * @param signer the key or the list that proves it
 */
public record VerifiedPlugin(Path bundle, PluginManifest manifest, Signer signer) {}
