import java.nio.charset.StandardCharsets;

/** The little JSON an answer needs: objects, arrays, strings, numbers. */
final class Json {
	private final StringBuilder out = new StringBuilder(4096);
	private boolean first = true;

	Json open(char bracket) {
		separate();
		out.append(bracket);
		first = true;
		return this;
	}

	Json close(char bracket) {
		out.append(bracket);
		first = false;
		return this;
	}

	Json key(String name) {
		value(name);
		out.append(':');
		first = true;
		return this;
	}

	Json value(String text) {
		separate();
		out.append('"');
		for (int i = 0; i < text.length(); i++)
			escape(text.charAt(i));
		out.append('"');
		return this;
	}

	Json value(long number) {
		separate();
		out.append(number);
		return this;
	}

	Json value(float number) {
		separate();
		out.append(number);
		return this;
	}

	byte[] bytes() {
		return out.append('\n').toString().getBytes(
		    StandardCharsets.UTF_8);
	}

	private void separate() {
		if (!first)
			out.append(',');
		first = false;
	}

	private void escape(char c) {
		if (c == '"' || c == '\\')
			out.append('\\').append(c);
		else if (c < ' ')
			out.append(String.format("\\u%04x", (int) c));
		else
			out.append(c);
	}
}
