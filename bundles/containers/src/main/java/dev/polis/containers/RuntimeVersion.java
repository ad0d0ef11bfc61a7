package dev.polis.containers;

import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Names a release of containerd or runc. */
record RuntimeVersion(int major, int minor, int patch) implements Comparable<RuntimeVersion> {

  // "containerd github.com/containerd/containerd/v2 v2.4.2 5b5…", Debian's "… containerd 1.6.20~ds1
  // …", "runc version 1.4.3": the first three numbers with dots.
  private static final Pattern NUMBERS = Pattern.compile("(?<![\\w.])v?(\\d+)\\.(\\d+)\\.(\\d+)");

  /** Finds the version in the output of a program. */
  static Optional<RuntimeVersion> find(String said) {
    return NUMBERS.matcher(said).results().findFirst().map(RuntimeVersion::of);
  }

  private static RuntimeVersion of(MatchResult numbers) {
    return new RuntimeVersion(
        Integer.parseInt(numbers.group(1)),
        Integer.parseInt(numbers.group(2)),
        Integer.parseInt(numbers.group(3)));
  }

  @Override
  public int compareTo(RuntimeVersion other) {
    int byMajor = Integer.compare(major, other.major);
    int byMinor = byMajor != 0 ? byMajor : Integer.compare(minor, other.minor);
    return byMinor != 0 ? byMinor : Integer.compare(patch, other.patch);
  }

  @Override
  public String toString() {
    return major + "." + minor + "." + patch;
  }
}
