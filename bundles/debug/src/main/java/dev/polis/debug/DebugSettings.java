package dev.polis.debug;

/**
 * The settings of the organ.
 *
 * @param enabled whether the debug services are served at all
 */
record DebugSettings(boolean enabled) {

  static DebugSettings of(DebugConfig config) {
    return new DebugSettings(config.enabled());
  }
}
