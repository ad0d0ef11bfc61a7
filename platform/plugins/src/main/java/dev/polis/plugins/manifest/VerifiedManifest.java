package dev.polis.plugins.manifest;

/**
 * Holds a manifest with a trusted signer that this platform can run, without a check of its bundle.
 *
 * @param manifest its content
 * @param signer the key or the list that proves it
 */
public record VerifiedManifest(PluginManifest manifest, Signer signer) {}
