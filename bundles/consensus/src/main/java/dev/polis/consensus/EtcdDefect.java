package dev.polis.consensus;

import java.util.Arrays;
import java.util.List;

/**
 * Lists defects of etcd against which nothing can be done from outside, each with the releases that
 * mended it. The numbers are those of etcd's own tracker, the releases those of its change logs.
 *
 * <p>Defects of clusters of several members alone are not listed: this runtime has one.
 */
enum EtcdDefect {
  /** It answered before its log was on disk, as only a single member does. */
  LOSES_WRITES(
      14370,
      "a single member that crashes can lose acknowledged writes",
      of(3, 4, 21),
      of(3, 5, 5)),

  /** An answer to a request for progress overtook the changes that it tells of. */
  MISORDERS_PROGRESS(
      15220,
      "progress of a watch can be told before the changes it covers",
      of(3, 4, 25),
      of(3, 5, 8)),

  /** What a slow watch had yet to see was dropped when it was compacted. */
  DROPS_COMPACTED_CHANGES(
      17529, "a slow watch can miss changes that are compacted", of(3, 4, 31), of(3, 5, 13)),

  /** The mending of the second one had made requests for progress wait for a change. */
  WITHHOLDS_PROGRESS(
      17507,
      "progress of a new watch can be withheld until something changes",
      of(3, 4, 31),
      of(3, 5, 13)),

  /** The mark of a deletion was removed if it was at the very revision of the compaction. */
  DROPS_DELETIONS(
      18089, "a watch can miss a deletion that is compacted", of(3, 4, 34), of(3, 5, 16));

  private final int issue;
  private final String words;
  private final EtcdVersion inOldSeries;
  private final EtcdVersion inSeries;

  EtcdDefect(int issue, String words, EtcdVersion inOldSeries, EtcdVersion inSeries) {
    this.issue = issue;
    this.words = words;
    this.inOldSeries = inOldSeries;
    this.inSeries = inSeries;
  }

  private static EtcdVersion of(int major, int minor, int patch) {
    return new EtcdVersion(major, minor, patch);
  }

  /** Returns the defects that a version has. */
  static List<EtcdDefect> of(EtcdVersion version) {
    return Arrays.stream(values()).filter(defect -> defect.isIn(version)).toList();
  }

  private boolean isIn(EtcdVersion version) {
    boolean mended = version.atLeast(version.atLeast(of(3, 5, 0)) ? inSeries : inOldSeries);
    boolean begun = this != WITHHOLDS_PROGRESS || !MISORDERS_PROGRESS.isIn(version);
    return begun && !mended;
  }

  /** What it does, with the thread in which etcd's maintainers describe it. */
  @Override
  public String toString() {
    return words + " (etcd-io/etcd#" + issue + ")";
  }
}
