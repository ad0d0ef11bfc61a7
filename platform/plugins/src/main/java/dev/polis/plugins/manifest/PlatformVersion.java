package dev.polis.plugins.manifest;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;
import org.osgi.framework.Version;

/** Knows the version of the platform, which the build takes from the root project. */
public final class PlatformVersion {
  private static final String RESOURCE = "platform.properties";

  private PlatformVersion() {}

  /** Returns the version of the platform of this class. */
  public static Version current() {
    Properties properties = new Properties();
    try (InputStream in = PlatformVersion.class.getResourceAsStream(RESOURCE)) {
      if (in == null) {
        throw new IllegalStateException(
            RESOURCE
                + " is missing beside "
                + PlatformVersion.class
                + "; build the platform again");
      }
      properties.load(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return parse(properties.getProperty("version", ""));
  }

  /**
   * Returns the message that a plugin needs another platform, with the remedy.
   *
   * @param plugin its name
   * @param needed such as {@code in version 2.0.0 or newer}
   * @param running the version of the running platform
   */
  public static String tooOld(String plugin, String needed, String running) {
    return "%s needs the platform %s, and this process runs %s; this needs a new process: install a newer distribution, then \"polisctl node restart --runtime\""
        .formatted(plugin, needed, running);
  }

  /** Reads a version in Maven's form: {@code 0.2.0-SNAPSHOT} is 0.2.0 with a qualifier. */
  static Version parse(String maven) {
    return PluginManifest.version("version of the platform", maven.replaceFirst("-", "."));
  }
}
