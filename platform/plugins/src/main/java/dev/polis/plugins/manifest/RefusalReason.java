package dev.polis.plugins.manifest;

/** Names why a plugin is refused. */
public enum RefusalReason {
  /** There is no manifest, or no signer vouches for it. */
  UNSIGNED,
  /** The manifest's bytes are no manifest. */
  UNREADABLE_MANIFEST,
  /** The manifest says something that this platform does not understand. */
  UNKNOWN_FIELDS,
  /** The cluster does not trust the key that signed it. */
  UNKNOWN_KEY,
  /** The signature is not that of the key it names. */
  BAD_SIGNATURE,
  /** A name, version, range or number in it is malformed. */
  MALFORMED,
  /** It, or its bundle, is larger than a plugin may be. */
  OVERSIZE,
  /** It needs a newer platform. */
  PLATFORM_TOO_OLD,
  /** The bundle has another length than the manifest says. */
  WRONG_SIZE,
  /** The bundle has another digest than the manifest says. */
  WRONG_DIGEST,
  /** The file is no bundle, or cannot be read as one. */
  UNREADABLE_BUNDLE,
  /** The bundle calls itself by another name or version than the manifest does. */
  OTHER_BUNDLE
}
