package dev.polis.plugins.manifest;

/**
 * Holds a manifest that a trusted signer vouches for and that this platform can run; its bundle was
 * not checked.
 *
 * @param manifest its content
 * @param signer the key or the list that proves it
 */
public record VerifiedManifest(PluginManifest manifest, Signer signer) {}
