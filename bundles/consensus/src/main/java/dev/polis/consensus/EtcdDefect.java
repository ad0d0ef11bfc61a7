package dev.polis.consensus;

import java.util.Arrays;
import java.util.List;

/**
 * Lists defects of etcd without a workaround, each with the releases that fixed it. The numbers are
 * those of etcd's own tracker, the releases those of its change logs.
 *
 * <p>It omits defects that only a cluster of several members has: this version runs one member.
 */
enum EtcdDefect {
  /** A single member answered before its log was on the disk. */
  LOSES_WRITES(
      14370,
      "a single member that crashes can lose acknowledged writes",
      of(3, 4, 21),
      of(3, 5, 5)),

  /** An answer to a request for progress overtook the changes that it covers. */
  MISORDERS_PROGRESS(
      15220,
      "a watch can report progress before it reports the changes up to there",
      of(3, 4, 25),
      of(3, 5, 8)),

  /** A compaction removed changes that a slow watch had yet to report. */
  DROPS_COMPACTED_CHANGES(
      17529, "a slow watch can miss compacted changes", of(3, 4, 31), of(3, 5, 13)),

  /** The fix of 15220 made requests for progress wait for a change. */
  WITHHOLDS_PROGRESS(
      17507,
      "a new watch can withhold its progress until a key changes",
      of(3, 4, 31),
      of(3, 5, 13)),

  /** A compaction removed the mark of a deletion at exactly its own revision. */
  DROPS_DELETIONS(18089, "a watch can miss a compacted deletion", of(3, 4, 34), of(3, 5, 16));

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

  /** Returns the defects of a version. */
  static List<EtcdDefect> of(EtcdVersion version) {
    return Arrays.stream(values()).filter(defect -> defect.isIn(version)).toList();
  }

  private boolean isIn(EtcdVersion version) {
    boolean mended = version.atLeast(version.atLeast(of(3, 5, 0)) ? inSeries : inOldSeries);
    boolean begun = this != WITHHOLDS_PROGRESS || !MISORDERS_PROGRESS.isIn(version);
    return begun && !mended;
  }

  /** Returns the effect, with the issue in which etcd's maintainers describe it. */
  @Override
  public String toString() {
    return words + " (etcd-io/etcd#" + issue + ")";
  }
}
