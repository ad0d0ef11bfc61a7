package dev.polis.cluster.it;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.polis.fixtures.Await;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.StreamSupport;

/** Lets nodes join the cluster of a first one, and reads its list of nodes. */
final class JoiningNodes {

  private final TestNode first;

  /**
   * @param first owned by its operator
   */
  JoiningNodes(TestNode first) {
    this.first = first;
  }

  /** Makes a node with the parameters that the operator makes for one that joins. */
  TestNode prepare(Path state, String address) throws Exception {
    TestNode node = TestNode.bare(state, address);
    first
        .ctl(
            "params",
            "make",
            "--register",
            "--owner",
            first.state().resolve("owner").toString(),
            "--to",
            node.state().resolve("esp/parameters.json").toString())
        .requireSuccess("no parameters");
    return node;
  }

  /** Waits until the node asks for its approval, and returns its id. */
  static String awaitRegistered(TestNode node) throws Exception {
    Path journal = Enrolment.journalFile(node);
    Await.until(
        TestNode.PATIENCE,
        "the node to wait for its approval",
        () -> Files.exists(journal) && node.said().contains("waiting for approval by an operator"),
        () -> "it said:\n" + node.said());
    return Enrolment.id(Enrolment.journal(node)).text();
  }

  /** Returns the row of a node in the list. */
  Optional<JsonObject> listed(String id) throws Exception {
    return StreamSupport.stream(first.json("node", "list").getAsJsonArray().spliterator(), false)
        .map(JsonElement::getAsJsonObject)
        .filter(node -> text(node, "id").equals(id))
        .findFirst();
  }

  static String text(JsonObject row, String field) {
    return row.get(field).getAsString();
  }

  void awaitHealthy(String id) throws Exception {
    Await.until(
        TestNode.PATIENCE,
        "node " + id + " to be listed as UP and healthy",
        () ->
            listed(id)
                .filter(
                    node ->
                        text(node, "state").equals("UP")
                            && text(node, "health").equals("HEALTHY")
                            && !text(node, "heartbeat").equals("never"))
                .isPresent(),
        () -> "it is listed as " + listed(id));
  }
}
