package dev.polis.consensus;

import java.util.Comparator;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Compares versions of etcd, and finds one in the output of {@code etcd --version}. */
record EtcdVersion(int major, int minor, int patch) implements Comparable<EtcdVersion> {

  /**
   * The oldest supported version, the first without an {@link EtcdDefect}. The earlier series 3.4
   * is no longer maintained, and has neither lease checkpoints nor pre-vote by default.
   */
  static final EtcdVersion OLDEST = new EtcdVersion(3, 5, 16);

  /** The first version that can require TLS 1.3, and separate gRPC from HTTP. */
  static final EtcdVersion SEPARATE = new EtcdVersion(3, 5, 8);

  /** The first version whose experimental flags have become feature gates. */
  static final EtcdVersion FEATURE_GATES = new EtcdVersion(3, 6, 0);

  private static final Pattern ANSWER =
      Pattern.compile("(?m)^etcd Version: ([0-9]{1,4})\\.([0-9]{1,4})\\.([0-9]{1,4})\\b");

  private static final Pattern PRE_RELEASE = Pattern.compile("(?m)^etcd Version: [0-9.]+-");

  /** Finds the version in the output of {@code etcd --version}. */
  static Optional<EtcdVersion> find(String answer) {
    Matcher matcher = ANSWER.matcher(answer);
    return matcher.find()
        ? Optional.of(
            new EtcdVersion(
                Integer.parseInt(matcher.group(1)),
                Integer.parseInt(matcher.group(2)),
                Integer.parseInt(matcher.group(3))))
        : Optional.empty();
  }

  /**
   * Returns whether the output of {@code etcd --version} names an alpha, a beta or a release
   * candidate.
   */
  static boolean isPreRelease(String answer) {
    return PRE_RELEASE.matcher(answer).find();
  }

  boolean atLeast(EtcdVersion other) {
    return compareTo(other) >= 0;
  }

  @Override
  public int compareTo(EtcdVersion other) {
    return Comparator.comparingInt(EtcdVersion::major)
        .thenComparingInt(EtcdVersion::minor)
        .thenComparingInt(EtcdVersion::patch)
        .compare(this, other);
  }

  @Override
  public String toString() {
    return major + "." + minor + "." + patch;
  }
}
