package dev.polis.kubernetes.settings;

import dev.polis.base.config.SettingCheck;
import java.time.Duration;
import java.util.List;

/**
 * Holds the checked configuration.
 *
 * @param port of the authenticating proxy, on the node's address; 0 for any free one
 * @param programs folder of the programs; empty for none
 * @param apiPort of the API server
 * @param balancerPort at which a worker reaches all controllers
 * @param pods addresses of Pods in the whole cluster
 * @param services addresses of Services
 * @param domain DNS domain of Services
 * @param links addresses between loopback nodes and their sandboxes
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

  /** The persistent identity of its configuration. */
  public static final String PID = "dev.polis.kubernetes";

  static final SettingCheck CHECK = SettingCheck.of(PID);
  private static final int MAX_PORT = 65_535;
  private static final List<String> ISOLATIONS = List.of("auto", "namespaces", "machine");

  /** Bits of the shortest prefix: a /24 for each of 256 nodes. */
  private static final int PODS_PREFIX = 16;

  /** A Service range must hold the API server's address and some Services: 256 addresses. */
  private static final int SERVICES_PREFIX = 24;

  /** Two addresses for each 127.x.b.c, of which there are 65,536. */
  private static final int LINKS_PREFIX = 15;

  /** The least patience: the interval of the checks of Pods. */
  private static final Duration LEAST_PATIENCE = Duration.ofSeconds(10);

  /** The greatest patience: Kubernetes keeps the events about a Pod for this long. */
  private static final Duration MOST_PATIENCE = Duration.ofHours(1);

  /** Refuses values that cannot work together, each by its key. */
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

  /** Checks the operator's settings; a refusal names key, value and remedy. */
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
   * Returns how long a Pod may take to start before health names it. By default half a minute, in
   * which the kubelet has tried to fetch an image three times: at once, after 10 s and after 20 s
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
