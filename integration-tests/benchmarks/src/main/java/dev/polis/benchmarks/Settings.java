package dev.polis.benchmarks;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Holds the subjects and the durations of the measurements.
 *
 * @param quick a tenth of the samples: shows that everything works, and the order of magnitude
 * @param distribution the node as it ships
 * @param etcd the folder with etcd
 * @param work the folder for states of nodes, on the disk that nodes use
 * @param jvm the options that a node's JVM gets
 * @param aotOptions further options of a JVM that writes an AOT cache
 * @param ctlOptions further options of the JVM of polisctl
 * @param sources the folder with the benchmarks' sources, some of which are compiled once more
 * @param karaf an unpacked Apache Karaf; empty if there is none
 * @param karafJava the home of a Java on which it runs
 * @param kubernetes the folder with Kubernetes' programs; empty if there is none
 * @param script the operator's script, which starts a cluster of several nodes
 * @param losses the number of times that a cluster loses its leader
 */
record Settings(
    boolean quick,
    Path distribution,
    Path etcd,
    Path work,
    List<String> jvm,
    List<String> aotOptions,
    List<String> ctlOptions,
    Path sources,
    String karaf,
    String karafJava,
    String kubernetes,
    Path script,
    int losses) {

  private static final int LOSSES = 5;

  /**
   * Reads the settings.
   *
   * @param losses empty for the default
   */
  static Settings read(boolean quick, Optional<Integer> losses) {
    return new Settings(
        quick,
        path("polis.distribution"),
        path("polis.etcd"),
        path("polis.work"),
        List.of(property("polis.jvm").split(" ")),
        List.of(property("polis.aot").split(" ")),
        List.of(property("polis.ctl").split(" ")),
        path("polis.sources"),
        property("polis.karaf"),
        property("polis.karaf.java"),
        property("polis.kubernetes"),
        path("polis.script"),
        losses.orElse(quick ? 1 : LOSSES));
  }

  private static Path path(String name) {
    return Path.of(property(name)).toAbsolutePath();
  }

  private static String property(String name) {
    String value = System.getProperty(name);
    if (value == null) {
      throw new IllegalStateException("-D" + name + " is not set; start with ./polis bench");
    }
    return value;
  }

  /** Returns a Java command line with the options of a node. */
  List<String> java(List<String> more) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(jvm);
    command.addAll(more);
    return command;
  }

  int starts() {
    return quick ? 1 : 5;
  }

  /** The number of measured commands of polisctl. */
  int commands() {
    return quick ? 3 : 20;
  }

  /** The time in which a started node finishes its one-time work. */
  Duration settle() {
    return quick ? Duration.ofSeconds(3) : Duration.ofSeconds(10);
  }

  /** The time in which the compiler finishes the work of a start. */
  Duration rest() {
    return quick ? Duration.ofSeconds(3) : Duration.ofSeconds(60);
  }

  Duration idle() {
    return quick ? Duration.ofSeconds(5) : Duration.ofSeconds(20);
  }

  /** The length of one round of one load. */
  Duration round() {
    return quick ? Duration.ofMillis(500) : Duration.ofMillis(1500);
  }

  int rounds() {
    return quick ? 1 : 2;
  }

  int swaps() {
    return quick ? 3 : 10;
  }

  /** The replacements that are not counted, since the first ones do one-time work. */
  int swapsBefore() {
    return 3;
  }

  Duration betweenSwaps() {
    return Duration.ofMillis(500);
  }

  /**
   * The number of starts from nothing; each ends everything before and after, and takes half a
   * minute.
   */
  int powerOns() {
    return quick ? 1 : 3;
  }

  /** The number of starts of a whole cluster from nothing, each of which takes half a minute. */
  int clusters() {
    return quick ? 1 : 3;
  }

  int pods() {
    return quick ? 3 : 10;
  }

  /** The time over which the CPU time of Kubernetes' idle programs is counted. */
  Duration kubernetesIdle() {
    return quick ? Duration.ofSeconds(10) : Duration.ofSeconds(30);
  }

  int streams() {
    return 1000;
  }

  int watchedWrites() {
    return quick ? 20 : 100;
  }
}
