package dev.polis.kubernetes.proxy;

import java.util.ArrayList;
import java.util.List;

/** Says whose request it is, in the header fields by which the API server learns it. */
sealed interface ProxySender {

  /** The API server would add it by itself; said here, it holds whatever its version does. */
  String AUTHENTICATED = "system:authenticated";

  /**
   * A user of the cluster, whom the proxy has identified by a certificate.
   *
   * @param name as a header holds it
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
