package dev.polis.plugins.manifest;

/**
 * Holds a manifest that somebody trusted vouches for and this platform can run; its bundle was not
 * looked at.
 *
 * @param manifest what it says
 * @param signer who vouches for it
 */
public record VerifiedManifest(PluginManifest manifest, Signer signer) {}
