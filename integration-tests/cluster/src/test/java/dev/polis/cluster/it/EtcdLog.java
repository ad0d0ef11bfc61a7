package dev.polis.cluster.it;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Holds the log of a node's etcd, a JSON object in each line.
 *
 * @param lines the last one may be incomplete, as etcd writes it
 */
record EtcdLog(List<String> lines) {

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.[SSSSSS][SSS]XX");

  /** Reads the log; it is empty if the node has never started etcd. */
  static EtcdLog of(TestNode node) throws IOException {
    try (Stream<Path> files = Files.walk(node.state().resolve("ephemeral"))) {
      Optional<Path> log =
          files.filter(file -> file.getFileName().toString().equals("etcd.log")).findFirst();
      return new EtcdLog(log.isPresent() ? Files.readAllLines(log.get()) : List.of());
    }
  }

  /** Returns the times of the lines that contain some words. */
  Stream<Instant> times(String words) {
    return objects(words).map(EtcdLog::time);
  }

  private Stream<JsonObject> objects(String words) {
    return lines.stream()
        .filter(line -> line.contains(words) && line.endsWith("}"))
        .map(line -> JsonParser.parseString(line).getAsJsonObject());
  }

  private static Instant time(JsonObject line) {
    return OffsetDateTime.parse(line.get("ts").getAsString(), TIME).toInstant();
  }

  /** Returns the time at which the member read that it belongs to the cluster. */
  Instant ownMember() {
    return objects("\"added member\"")
        .filter(line -> line.get("added-peer-id").equals(line.get("local-member-id")))
        .map(EtcdLog::time)
        .findFirst()
        .orElseThrow();
  }

  /** Returns the first time after another one at which etcd wrote some words. */
  Optional<Instant> firstAfter(Instant time, String words) {
    return times(words).filter(at -> at.isAfter(time)).min(Instant::compareTo);
  }
}
