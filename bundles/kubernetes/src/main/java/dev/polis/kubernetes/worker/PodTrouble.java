package dev.polis.kubernetes.worker;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.logtree.LogFormat;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Finds the cause that prevents a Pod from starting, from the Pod and its events. The Pod's own
 * faults, such as a missing ConfigMap or a missing program in its image, do not concern the node.
 */
final class PodTrouble {

  /** The reasons of containers without an image. */
  private static final Set<String> IMAGE =
      Set.of("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable");

  private static final String NEVER_PULLED = "ErrImageNeverPull";

  /** The reasons of containers that the runtime cannot make. */
  private static final Set<String> RUNTIME =
      Set.of("CreateContainerError", "RunContainerError", "ImageInspectError");

  /** The reasons of the kubelet's events about the steps before the first container. */
  private static final String SANDBOX = "FailedCreatePodSandBox";

  private static final String NETWORK = "NetworkNotReady";
  private static final String MOUNT = "FailedMount";
  private static final Set<String> BEFORE = Set.of(SANDBOX, NETWORK, MOUNT);

  /** The condition of a Pod that has its sandbox, its network and its volumes. */
  private static final String PREPARED = "PodReadyToStartContainers";

  private static final Pattern OWN_FAULT =
      pattern(
          "error during container init|no command specified|unable to find (?:user|group)"
              + "|no matching entries in passwd");

  /** The messages that only summarize others, and those about objects to which the Pod refers. */
  private static final Pattern OWN_VOLUME =
      pattern(
          "^unable to attach or mount volumes|(?:configmap|secret) .*not found|not registered"
              + "|references non-existent|hostPath type check failed");

  private static final Pattern DISK_FULL = pattern("no space left on device|disk quota exceeded");
  private static final Pattern UNREACHED =
      pattern(
          "no such host|dial tcp|i/o timeout|connection refused|network is unreachable|no route to host"
              + "|TLS handshake|deadline exceeded|server misbehaving|RegistryUnavailable");

  /** Go's text about a name lookup: the name, the server, and whether the server answered. */
  private static final Pattern LOOKUP =
      pattern("lookup (\\S+) on (\\S+):53: (?:.*?(no such host))?");

  private static final Pattern REFUSED =
      pattern("access denied|unauthorized|authorization failed|forbidden|insufficient_scope");
  private static final Pattern MISSING = pattern("not found|manifest unknown");

  private static final Pattern OF_NETWORK = pattern("setup network|network is not ready|\\bcni\\b");
  private static final Pattern NO_ADDRESS = pattern("no IP addresses available");
  private static final Pattern NO_PLUGIN = pattern("failed to find plugin");
  private static final Pattern NOT_EXECUTABLE = pattern("fork/exec (\\S+): permission denied");
  private static final Pattern NO_CONFIGURATION = pattern("plugin not initialized");

  private static final String LOAD = "bring it onto the node: polisctl image load ARCHIVE";
  private static final String RUNTIME_LOG =
      "polisctl explain containers; polisctl node logs --dn root.containers.containerd shows more";
  private static final String KUBELET_LOG =
      "polisctl node logs --dn root.roles.plugins.kubernetes_worker.plugin.worker.kubelet";

  /** The refusals of the machine, and lost files; the health table has their remedies. */
  private static final Pattern OF_SYSTEM =
      pattern(
          "read-only file system|no space left on device|disk quota exceeded|input/output error"
              + "|too many open files|cannot allocate memory|snapshots/\\d+/\\S*: no such file");

  /** The parts of a message that differ for each Pod and attempt, or are for programmers. */
  private static final Pattern NOISE =
      Pattern.compile(
          "(?s)^.*\\bdesc = |\\(combined from similar events\\): |^MountVolume\\.[\\w ]+ failed for volume"
              + " \"[^\"]*\" : | ?\"?\\b[0-9a-f]{32,}\\b\"?");

  /** The longest shown message; the log has longer ones. */
  private static final int LONGEST = 200;

  /** The longest examined message, since a user determines the names in it. */
  private static final int LONGEST_MESSAGE = 4096;

  private static final List<String> OUTLINE = List.of("namespace", "name", "uid");

  private PodTrouble() {}

  private static Pattern pattern(String words) {
    return Pattern.compile(words, Pattern.CASE_INSENSITIVE);
  }

  private record Cause(String reason, String remedy) {}

  /**
   * Returns the cause that prevents a Pod from starting; empty if it is not the node, or is
   * unknown.
   *
   * @param events the warnings about this Pod
   */
  static Optional<StuckPod> of(JsonObject pod, List<JsonObject> events) {
    if (ends(pod)) {
      return Optional.empty();
    }
    Optional<StuckPod> container = ofContainers(pod);
    return container.isPresent() ? container : ofEvents(pod, events);
  }

  private static boolean ends(JsonObject pod) {
    return pod.getAsJsonObject("metadata").has("deletionTimestamp");
  }

  /** Returns whether a Pod waits for a step before its containers, which only events describe. */
  static boolean needsEvents(JsonObject pod) {
    return !ends(pod)
        && ofContainers(pod).isEmpty()
        && parts(pod, "conditions")
            .noneMatch(
                condition ->
                    text(condition, "type").equals(PREPARED)
                        && text(condition, "status").equals("True"));
  }

  /** Returns the part of a Pod for a judgement by events: its names, and the begin of its wait. */
  static JsonObject outline(JsonObject pod) {
    JsonObject metadata = new JsonObject();
    for (String field : OUTLINE) {
      metadata.add(field, pod.getAsJsonObject("metadata").get(field));
    }
    metadata.addProperty("creationTimestamp", scheduled(pod).toString());
    JsonObject outline = new JsonObject();
    outline.add("metadata", metadata);
    return outline;
  }

  private static Optional<StuckPod> ofContainers(JsonObject pod) {
    return Stream.concat(parts(pod, "initContainerStatuses"), parts(pod, "containerStatuses"))
        .flatMap(each -> ofContainer(pod, each).stream())
        .findFirst();
  }

  /** Returns the time at which a Pod was assigned to its node. */
  static Instant scheduled(JsonObject pod) {
    return parts(pod, "conditions")
        .filter(condition -> text(condition, "type").equals("PodScheduled"))
        .map(condition -> text(condition, "lastTransitionTime"))
        .filter(time -> !time.isEmpty())
        .findFirst()
        .map(Instant::parse)
        .orElseGet(() -> Instant.parse(text(pod.getAsJsonObject("metadata"), "creationTimestamp")));
  }

  private static Optional<StuckPod> ofContainer(JsonObject pod, JsonObject container) {
    JsonObject state = container.getAsJsonObject("state");
    if (state == null || !state.has("waiting")) {
      return Optional.empty();
    }
    JsonObject waiting = state.getAsJsonObject("waiting");
    String reason = text(waiting, "reason");
    String message = text(waiting, "message");
    String image =
        "the image %s is not on this node, ".formatted(cut(text(container, "image"), LONGEST));
    Optional<Cause> cause = Optional.empty();
    if (reason.equals(NEVER_PULLED)) {
      cause = Optional.of(new Cause(image + "and the Pod does not let the node fetch it", LOAD));
    } else if (IMAGE.contains(reason)) {
      cause = Optional.of(ofImage(pod, image, reason + ": " + message));
    } else if (RUNTIME.contains(reason) && !OWN_FAULT.matcher(message).find()) {
      cause =
          Optional.of(
              new Cause(
                  "the runtime starts no container: " + words(pod, message),
                  unlessOfSystem(message, RUNTIME_LOG)));
    }
    return cause.map(found -> stuck(pod, found, message));
  }

  private static Cause ofImage(JsonObject pod, String image, String message) {
    if (DISK_FULL.matcher(message).find()) {
      return new Cause(
          image + "and there is no room for it",
          "free some space on the data volume: df -h shows how full it is");
    }
    Matcher lookup = LOOKUP.matcher(message);
    if (lookup.find()) {
      return ofName(image, lookup);
    }
    if (UNREACHED.matcher(message).find()) {
      return new Cause(image + "and the node does not reach its registry", LOAD);
    }
    if (REFUSED.matcher(message).find()) {
      return new Cause(
          image + "and its registry does not give it without other credentials",
          "correct its name, give the Pod imagePullSecrets, or " + LOAD);
    }
    if (MISSING.matcher(message).find()) {
      return new Cause(image + "and its registry does not have it", "correct its name, or " + LOAD);
    }
    return new Cause(image + "and the runtime cannot fetch it: " + words(pod, message), LOAD);
  }

  private static Cause ofName(String image, Matcher lookup) {
    String server = lookup.group(2);
    if (lookup.group(3) != null) {
      return new Cause(
          image + "and the name server %s knows no registry %s".formatted(server, lookup.group(1)),
          "correct the image's name, or " + LOAD);
    }
    return new Cause(
        image + "and the name server %s does not answer where its registry is".formatted(server),
        "name a server that answers in /etc/resolv.conf, and remove and add the role KubernetesWorker, whose sandbox has a copy of it; or "
            + LOAD);
  }

  private static String unlessOfSystem(String message, String remedy) {
    return OF_SYSTEM.matcher(message).find() ? "" : remedy;
  }

  /** Judges by the latest event about a step before the first container. */
  private static Optional<StuckPod> ofEvents(JsonObject pod, List<JsonObject> events) {
    return events.stream()
        .filter(event -> BEFORE.contains(text(event, "reason")))
        .max(Comparator.comparing(PodTrouble::time))
        .flatMap(
            event ->
                ofEvent(pod, text(event, "reason"), text(event, "message"))
                    .map(cause -> stuck(pod, cause, text(event, "message"))));
  }

  private static Optional<Cause> ofEvent(JsonObject pod, String reason, String message) {
    String words = words(pod, message);
    if (reason.equals(MOUNT)) {
      return Optional.of(
              new Cause(
                  "the kubelet cannot mount a volume: " + words,
                  unlessOfSystem(message, KUBELET_LOG)))
          .filter(cause -> !OWN_VOLUME.matcher(message).find());
    }
    if (NO_ADDRESS.matcher(message).find()) {
      return Optional.of(
          new Cause(
              "Pods use all addresses that this node has for them",
              "delete Pods of this node, or let some run on another"));
    }
    if (NO_PLUGIN.matcher(message).find()) {
      return Optional.of(
          new Cause(
              "a program of the network plugin is missing: " + words,
              "run \"polis provision kubernetes\""));
    }
    Matcher program = NOT_EXECUTABLE.matcher(message);
    if (program.find()) {
      return Optional.of(
          new Cause(
              "a program is not executable: " + program.group(1),
              "make it executable: chmod 755 " + program.group(1)));
    }
    if (NO_CONFIGURATION.matcher(message).find()) {
      return Optional.of(
          new Cause(
              "this node has no addresses for Pods yet",
              "polisctl kube status: kube-controller-manager assigns the addresses"));
    }
    if (reason.equals(NETWORK) || OF_NETWORK.matcher(message).find()) {
      return Optional.of(
          new Cause("the network plugin fails: " + words, unlessOfSystem(message, RUNTIME_LOG)));
    }
    return Optional.of(
        new Cause("the runtime makes no sandbox: " + words, unlessOfSystem(message, RUNTIME_LOG)));
  }

  private static StuckPod stuck(JsonObject pod, Cause cause, String message) {
    JsonObject metadata = pod.getAsJsonObject("metadata");
    return new StuckPod(
        text(metadata, "namespace"),
        text(metadata, "name"),
        cause.reason(),
        cut(message, LONGEST_MESSAGE),
        scheduled(pod),
        cause.remedy());
  }

  /** Returns the newest of an event's timestamps; each writer sets other ones. */
  private static String time(JsonObject event) {
    return Stream.of(
            text(event, "lastTimestamp"),
            text(event, "eventTime"),
            text(event.getAsJsonObject("metadata"), "creationTimestamp"))
        .max(Comparator.naturalOrder())
        .orElse("");
  }

  /** Returns the meaningful part of a message, which is the same for each Pod and attempt. */
  private static String words(JsonObject pod, String message) {
    String uid = text(pod.getAsJsonObject("metadata"), "uid");
    String words =
        LogFormat.printable(NOISE.matcher(message.replace(uid, "")).replaceAll("")).strip();
    if (words.isEmpty()) {
      return "it gives no reason";
    }
    // Each layer of a program puts its text before that of the failed one, so the end is the cause.
    return words.length() <= LONGEST
        ? words
        : words.substring(0, LONGEST / 2) + "…" + words.substring(words.length() - LONGEST / 2);
  }

  private static String cut(String text, int longest) {
    return text.length() <= longest ? text : text.substring(0, longest) + "…";
  }

  private static String text(JsonObject object, String field) {
    return object != null && object.has(field) && object.get(field).isJsonPrimitive()
        ? object.get(field).getAsString()
        : "";
  }

  /** Returns the objects of a list in a Pod's status; empty without the list. */
  private static Stream<JsonObject> parts(JsonObject pod, String list) {
    JsonObject status = pod.getAsJsonObject("status");
    return status != null && status.has(list)
        ? status.getAsJsonArray(list).asList().stream().map(JsonElement::getAsJsonObject)
        : Stream.empty();
  }
}
