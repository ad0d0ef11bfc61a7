package dev.polis.benchmarks;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Says what is measured, and for how long.
 *
 * @param quick a tenth of the samples: shows that everything works, and the order of magnitude
 * @param distribution the node as it ships
 * @param etcd the folder with etcd
 * @param work where states of nodes may be put; on the disk that nodes are on
 * @param jvm the options that a node's JVM gets
 * @param aotOptions further options of a JVM that writes an AOT cache
 * @param ctlOptions what the JVM of polisctl is told besides
 * @param sources the folder with the benchmarks' sources, some of which are compiled once more
 * @param karaf an unpacked Apache Karaf; empty if there is none
 * @param karafJava the home of a Java on which it runs
 * @param kubernetes the folder with Kubernetes' programs; empty if there is none
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
    String kubernetes) {

  static Settings read(boolean quick) {
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
        property("polis.kubernetes"));
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

  /** A Java command line with the options of a node. */
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

  /** Commands of the command line. */
  int commands() {
    return quick ? 3 : 20;
  }

  /** Until a started node has done what it does once. */
  Duration settle() {
    return quick ? Duration.ofSeconds(3) : Duration.ofSeconds(10);
  }

  /** Until the compiler has done what a start gave it to do. */
  Duration rest() {
    return quick ? Duration.ofSeconds(3) : Duration.ofSeconds(60);
  }

  Duration idle() {
    return quick ? Duration.ofSeconds(5) : Duration.ofSeconds(20);
  }

  /** One round of one load. */
  Duration round() {
    return quick ? Duration.ofMillis(500) : Duration.ofMillis(1500);
  }

  int rounds() {
    return quick ? 1 : 2;
  }

  int swaps() {
    return quick ? 3 : 10;
  }

  /** Replacements that are not counted: what is made at the first one is made. */
  int swapsBefore() {
    return 3;
  }

  Duration betweenSwaps() {
    return Duration.ofMillis(500);
  }

  /** Starts that end everything before and after, so that each takes half a minute. */
  int powerOns() {
    return quick ? 1 : 3;
  }

  int pods() {
    return quick ? 3 : 10;
  }

  /** How long the CPU time of Kubernetes' programs is counted while nobody calls them. */
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
