package dev.polis.plugins.manifest;

import java.nio.file.Path;

/**
 * Holds a plugin whose bundle matches its verified manifest.
 *
 * @param bundle its file at the time of the check
 * @param manifest its content
 * @param signer the key or the list that proves it
 */
public record VerifiedPlugin(Path bundle, PluginManifest manifest, Signer signer) {}
