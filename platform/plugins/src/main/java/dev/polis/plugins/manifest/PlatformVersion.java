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

  /** Returns the version of the platform that this class came with. */
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

  /** Reads a version as Maven writes it: {@code 0.2.0-SNAPSHOT} is 0.2.0 with a qualifier. */
  static Version parse(String maven) {
    return PluginManifest.version("version of the platform", maven.replaceFirst("-", "."));
  }
}
