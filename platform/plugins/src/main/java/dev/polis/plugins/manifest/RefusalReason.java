package dev.polis.plugins.manifest;

/** Lists the reasons for the refusal of a plugin. */
public enum RefusalReason {
  /** There is no manifest, or it has no signature. */
  UNSIGNED,
  /** The manifest's bytes are no manifest. */
  UNREADABLE_MANIFEST,
  /** The manifest has content that this platform does not understand. */
  UNKNOWN_FIELDS,
  /** The cluster does not trust the key that signed it. */
  UNKNOWN_KEY,
  /** The signature does not belong to the named key. */
  BAD_SIGNATURE,
  /** A name, version, range or number in the manifest is malformed. */
  MALFORMED,
  /** The manifest or its bundle is too large. */
  OVERSIZE,
  /** The plugin needs a newer platform. */
  PLATFORM_TOO_OLD,
  /** The length of the bundle differs from the manifest. */
  WRONG_SIZE,
  /** The digest of the bundle differs from the manifest. */
  WRONG_DIGEST,
  /** The file is no readable bundle. */
  UNREADABLE_BUNDLE,
  /** The name or version of the bundle differs from the manifest. */
  OTHER_BUNDLE
}
