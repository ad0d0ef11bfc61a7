package dev.polis.containers;

import dev.polis.base.config.SettingCheck;
import java.net.URI;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Holds the checked configuration.
 *
 * @param programs the folder of containerd and its needed programs; blank for none
 * @param mirrors the URL of the mirror, by registry
 * @param restrictOom {@code yes}, {@code no} or {@code auto}
 * @param imageMebibytes size of the ext4 image; 0 for three quarters of the free space, if the
 *     runtime needs an image
 * @param leastFreeMebibytes the room that the first start needs
 * @param ready the time for containerd to become ready
 */
record ContainersSettings(
    String programs,
    SortedMap<String, URI> mirrors,
    String restrictOom,
    long imageMebibytes,
    long leastFreeMebibytes,
    Duration ready) {

  static final String PID = "dev.polis.containers";

  private static final SettingCheck CHECK = SettingCheck.of(PID);
  private static final List<String> RESTRICT = List.of("auto", "yes", "no");

  /**
   * The limits of an image: an ext4 below 64 MiB has no room for its own tables, and a file of ext4
   * has at most 16 TiB.
   */
  private static final long LEAST_IMAGE = 64;

  private static final long MOST_IMAGE = 16L << 20;

  /** The name of a registry in the name of an image: a host, perhaps with a port. */
  private static final String REGISTRY = "[A-Za-z0-9.-]+(:[0-9]{1,5})?";

  ContainersSettings {
    CHECK.oneOf("restrict.oom", restrictOom, RESTRICT);
    if (imageMebibytes != 0) {
      CHECK.range("image.mebibytes", imageMebibytes, LEAST_IMAGE, MOST_IMAGE);
    }
    CHECK.range("least.free.mebibytes", leastFreeMebibytes, 0, MOST_IMAGE);
    CHECK.seconds("ready.seconds", ready.toSeconds(), Duration.ofSeconds(1), Duration.ofHours(1));
    mirrors = Collections.unmodifiableSortedMap(new TreeMap<>(mirrors));
  }

  /**
   * Checks a configuration.
   *
   * @throws dev.polis.base.config.SettingException if a value is not usable
   */
  static ContainersSettings of(ContainersConfig config) {
    return new ContainersSettings(
        config.programs().strip(),
        mirrors(config.registry_mirrors()),
        config.restrict_oom(),
        config.image_mebibytes(),
        config.least_free_mebibytes(),
        Duration.ofSeconds(config.ready_seconds()));
  }

  /** Reads {@code docker.io=https://mirror.example,quay.io=https://other.example}. */
  static SortedMap<String, URI> mirrors(String text) {
    SortedMap<String, URI> mirrors = new TreeMap<>();
    for (String part : text.split(",")) {
      if (part.isBlank()) {
        continue;
      }
      int equals = part.indexOf('=');
      String registry = equals < 0 ? "" : part.substring(0, equals).strip();
      if (!registry.matches(REGISTRY)) {
        throw refuseMirror(
            part, "which does not name a registry; write docker.io=https://mirror.example");
      }
      if (mirrors.put(registry, mirror(part, part.substring(equals + 1).strip())) != null) {
        throw refuseMirror(part, "which is a second mirror of " + registry + "; name one");
      }
    }
    return mirrors;
  }

  private static URI mirror(String part, String text) {
    try {
      URI mirror = URI.create(text);
      boolean web = "https".equals(mirror.getScheme()) || "http".equals(mirror.getScheme());
      if (web && mirror.getHost() != null) {
        return mirror;
      }
    } catch (IllegalArgumentException noUri) {
      // The check below refuses it with its message.
    }
    throw refuseMirror(part, "whose mirror is not a URL; write one such as https://mirror.example");
  }

  private static RuntimeException refuseMirror(String part, String why) {
    return CHECK.refuse("registry.mirrors", part.strip(), why);
  }
}
