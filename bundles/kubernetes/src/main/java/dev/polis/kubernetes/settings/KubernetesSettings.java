package dev.polis.kubernetes.settings;

import dev.polis.base.config.SettingCheck;
import java.time.Duration;
import java.util.List;

/**
 * Holds the checked configuration.
 *
 * @param port the port of the authenticating proxy, on the node's address; 0 for any free one
 * @param programs the folder of the programs; empty for none
 * @param apiPort the port of the API server
 * @param balancerPort the port of a worker's load balancer
 * @param pods the addresses of Pods in the whole cluster
 * @param services the addresses of Services
 * @param domain the DNS domain of Services
 * @param links the addresses between loopback nodes and their sandboxes
 * @param isolation {@code auto}, {@code namespaces} or {@code machine}
 * @param audit the content of the API server's audit log
 */
public record KubernetesSettings(
    int port,
    String programs,
    int apiPort,
    int balancerPort,
    AddressRange pods,
    AddressRange services,
    String domain,
    AddressRange links,
    String isolation,
    AuditSettings audit) {

  /** The PID of the configuration. */
  public static final String PID = "dev.polis.kubernetes";

  static final SettingCheck CHECK = SettingCheck.of(PID);
  private static final int MAX_PORT = 65_535;
  private static final List<String> ISOLATIONS = List.of("auto", "namespaces", "machine");

  /** The longest allowed prefix of the Pods' range: a /24 for each of 256 nodes. */
  private static final int PODS_PREFIX = 16;

  /**
   * The longest allowed prefix of the Services' range: 256 addresses for the API server and some
   * Services.
   */
  private static final int SERVICES_PREFIX = 24;

  /**
   * The longest allowed prefix of the links' range: two addresses for each of 65,536 nodes
   * 127.x.b.c.
   */
  private static final int LINKS_PREFIX = 15;

  /** The least patience: the interval of the checks of Pods. */
  private static final Duration LEAST_PATIENCE = Duration.ofSeconds(10);

  /** The greatest patience: Kubernetes keeps the events about a Pod for this long. */
  private static final Duration MOST_PATIENCE = Duration.ofHours(1);

  /** Refuses conflicting values, each with its key. */
  public KubernetesSettings {
    CHECK.range("port", port, 0, MAX_PORT);
    CHECK.port("api.port", apiPort);
    CHECK.port("balancer.port", balancerPort);
    if (apiPort == balancerPort || apiPort == port || balancerPort == port) {
      throw CHECK.refuse(
          "api.port",
          apiPort,
          "but port is %d and balancer.port %d; give each its own port"
              .formatted(port, balancerPort));
    }
    CHECK.present("domain", domain);
    CHECK.oneOf("isolation", isolation, ISOLATIONS);
    requireApart("pod.range", pods, "service.range", services);
    requireApart("pod.range", pods, "link.range", links);
    requireApart("service.range", services, "link.range", links);
  }

  /** Checks the operator's settings; a refusal names the key, the value and the remedy. */
  public static KubernetesSettings of(KubernetesConfig config) {
    return new KubernetesSettings(
        config.port(),
        config.programs(),
        config.api_port(),
        config.balancer_port(),
        range("pod.range", config.pod_range(), PODS_PREFIX),
        range("service.range", config.service_range(), SERVICES_PREFIX),
        config.domain(),
        range("link.range", config.link_range(), LINKS_PREFIX),
        config.isolation(),
        AuditSettings.of(config));
  }

  /**
   * Returns the time for the start of a Pod before health names it. The default is half a minute,
   * in which the kubelet tries three times to fetch an image: at once, after 10 s and after 20 s
   * more.
   */
  public static Duration podPatience(KubernetesConfig config) {
    return CHECK.seconds(
        "pod.patience.seconds", config.pod_patience_seconds(), LEAST_PATIENCE, MOST_PATIENCE);
  }

  private static AddressRange range(String key, String text, int longestPrefix) {
    try {
      AddressRange range = AddressRange.of(text);
      if (range.prefix() > longestPrefix) {
        throw new IllegalArgumentException(
            "is too small; give it a prefix of /%d or shorter".formatted(longestPrefix));
      }
      return range;
    } catch (IllegalArgumentException wrong) {
      throw CHECK.refuse(key, text, "which " + wrong.getMessage());
    }
  }

  private static void requireApart(
      String key, AddressRange range, String otherKey, AddressRange other) {
    if (range.overlaps(other)) {
      throw CHECK.refuse(
          key, range, "which overlaps with %s=%s; give each its own".formatted(otherKey, other));
    }
  }
}
