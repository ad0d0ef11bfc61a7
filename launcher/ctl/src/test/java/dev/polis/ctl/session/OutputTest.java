package dev.polis.ctl.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonArray;
import com.google.gson.JsonParser;
import dev.polis.ctl.session.Document.Column;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class OutputTest {

  private static final JsonArray ROWS =
      JsonParser.parseString(
              """
              [{"id": "one", "roles": ["A", "B"], "age": 7, "labels": {"zone": "x"}},
               {"id": "another", "roles": [], "age": 1234567890123, "labels": {}, "note": "yes"}]
              """)
          .getAsJsonArray();

  private static final Document NODES =
      Document.rows(
          ROWS,
          Column.of("ID", "id"),
          Column.of("ROLES", "roles"),
          Column.wide("LABELS", "labels"),
          Column.of("AGE", "age"),
          Column.of("NOTE", "note"));

  private static String printed(Output output, Document document) {
    StringWriter text = new StringWriter();
    output.print(document, new PrintWriter(text));
    return text.toString();
  }

  @Test
  void table_alignsAndLeavesOutWhatIsWide() {
    assertEquals(
        """
        ID        ROLES   AGE             NOTE
        one       A,B     7
        another           1234567890123   yes
        """,
        printed(Output.table, NODES));
  }

  @Test
  void wide_hasAllColumns() {
    assertEquals(
        """
        ID        ROLES   LABELS   AGE             NOTE
        one       A,B     zone:x   7
        another                    1234567890123   yes
        """,
        printed(Output.wide, NODES));
  }

  @Test
  void table_ofNothingHasItsHeadings() {
    assertEquals(
        "ID\n", printed(Output.table, Document.rows(new JsonArray(), Column.of("ID", "id"))));
  }

  @Test
  void json_isTheBodyWhateverTheColumns() {
    assertEquals(ROWS, JsonParser.parseString(printed(Output.json, NODES)));
    assertEquals(
        """
        {
          "filter": "a < b && c > 'd'"
        }
        """,
        printed(
            Output.json,
            Document.single(
                JsonParser.parseString("{\"filter\": \"a < b && c > 'd'\"}").getAsJsonObject())));
  }

  @Test
  void yaml_keepsOrderAndTypes() {
    assertEquals(
        """
        - id: one
          roles:
          - A
          - B
          age: 7
          labels:
            zone: x
        - id: another
          roles: []
          age: 1234567890123
          labels: {}
          note: yes
        """,
        printed(Output.yaml, NODES));
  }

  @Test
  void yaml_quotesTextsThatWouldReadAsSomethingElse() {
    assertEquals(
        """
        number: '0012'
        truth: 'true'
        empty: ''
        """,
        printed(
            Output.yaml,
            Document.single(
                JsonParser.parseString("{\"number\":\"0012\",\"truth\":\"true\",\"empty\":\"\"}")
                    .getAsJsonObject())));
  }
}
