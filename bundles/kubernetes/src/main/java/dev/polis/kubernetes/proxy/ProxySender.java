package dev.polis.kubernetes.proxy;

import java.util.ArrayList;
import java.util.List;

/** Names the user of a request, in the header fields that the API server reads. */
sealed interface ProxySender {

  /** The API server would add it itself; with it here, every version of it behaves alike. */
  String AUTHENTICATED = "system:authenticated";

  /**
   * A user of the cluster, whom the proxy has identified by a certificate.
   *
   * @param name encoded for a header
   * @param groups likewise
   */
  record User(String name, List<String> groups) implements ProxySender {}

  /**
   * The owner of a token, such as a service account, whom the API server identifies.
   *
   * @param authorization the value of that header
   */
  record Bearer(String authorization) implements ProxySender {}

  /** Returns the header fields. */
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
