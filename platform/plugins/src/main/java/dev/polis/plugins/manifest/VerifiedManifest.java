package dev.polis.plugins.manifest;

/**
 * Holds a manifest that a trusted signer vouches for and that this platform can run; its bundle was
 * not checked.
 *
 * @param manifest what it says
 * @param signer who vouches for it
 */
public record VerifiedManifest(PluginManifest manifest, Signer signer) {}
