package dev.polis.kubernetes.proxy;

import java.util.ArrayList;
import java.util.List;

/** Names the user of a request in the header fields for the API server. */
sealed interface ProxySender {

  /** The group that the API server would add itself; with it here, all versions act alike. */
  String AUTHENTICATED = "system:authenticated";

  /**
   * Is a user of the cluster, whom the proxy has identified by a certificate.
   *
   * @param name the name, encoded for a header
   * @param groups the groups, encoded in the same way
   */
  record User(String name, List<String> groups) implements ProxySender {}

  /**
   * Is the owner of a token, such as a service account, whom the API server identifies.
   *
   * @param authorization the value of the header Authorization
   */
  record Bearer(String authorization) implements ProxySender {}

  /** Returns the header fields that identify the sender. */
  default List<HttpHead.Field> fields() {
    return switch (this) {
      case Bearer(String authorization) ->
          List.of(new HttpHead.Field("Authorization", authorization));
      case User(String name, List<String> groups) -> {
        List<HttpHead.Field> fields = new ArrayList<>();
        fields.add(new HttpHead.Field("X-Remote-User", name));
        groups.forEach(group -> fields.add(new HttpHead.Field("X-Remote-Group", group)));
        fields.add(new HttpHead.Field("X-Remote-Group", AUTHENTICATED));
        yield fields;
      }
    };
  }
}
