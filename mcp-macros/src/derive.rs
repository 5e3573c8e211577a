//! `#[derive(Resource)]`: turns the values of a struct into resources.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Attribute, Data, DeriveInput, Fields, Ident, LitStr, Member, Type};

use crate::attr::{self, Entries, Name, Options, Size};
use crate::check;
use crate::describe::resource_keys;
use crate::doc;
use crate::errors::Errors;
use crate::handler::{Kind, private};
use crate::name::{closest, snake_case};
use crate::uri::{self, Part};

/// The struct, with its attributes parsed.
struct Model {
    ident: Ident,
    options: Options,
    description: Option<TokenStream>,
    fields: Vec<(Ident, Type)>,
    body: Body,
    last_modified: Option<(Member, Type)>,
    /// False for an enum or a union, which have no fields to fill placeholders from.
    is_struct: bool,
}

/// The contents that a read returns.
enum Body {
    /// The whole struct as JSON.
    Json,
    Text(Member, Type),
    Blob(Member, Type),
}

// Input
//     #[derive(Serialize, Resource)]
//     #[resource(uri = "note://{id}")]
//     struct Note { id: u64, title: String }
// Output
//     const _: () = {
//         use ::mcp_runtime::__private as __mcp;
//         impl From<Note> for __mcp::Resource {
//             fn from(__value: Note) -> Self {
//                 let __uri = { "note://", then the id, escaped };
//                 let mut __builder = __mcp::resource(&__uri, "note");
//                 __builder.mime("application/json");
//                 __builder.sync(move |_, _| Ok(__mcp::json_contents(&__value)))
//             }
//         }
//     };
/// Expands `#[derive(Resource)]`.
pub(crate) fn resource(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    let model = Model::read(&input, &mut errors);
    let private = private(model.options.krate.as_ref());
    let conversion = model.conversion(&mut errors);
    let error = errors.into_compile_error();
    let body = if error.is_some() { quote!(::core::unreachable!()) } else { conversion };
    let ident = &input.ident;
    let (generics, arguments, clause) = input.generics.split_for_impl();
    quote! {
        const _: () = {
            use #private as __mcp;

            #[automatically_derived]
            impl #generics ::core::convert::From<#ident #arguments> for __mcp::Resource #clause {
                #[allow(unused_mut, deprecated, clippy::absolute_paths, clippy::redundant_closure)]
                fn from(__value: #ident #arguments) -> Self {
                    #body
                }
            }
        };
        #error
    }
}

impl Model {
    fn read(input: &DeriveInput, errors: &mut Errors) -> Self {
        let mut options = Options::default();
        for attr in input.attrs.iter().filter(|attr| attr.path().is_ident("resource")) {
            if let Some(all) = errors.handle(attr.parse_args::<Entries>()) {
                options.add(Kind::Derive, all, errors);
            } else {
                options.broken = true;
            }
        }
        check::cache(&options, errors);
        if !input.generics.params.is_empty() {
            errors.push_spanned(
                &input.generics.params,
                "a resource has one type: derive it on a struct without parameters",
            );
        }
        let description = match &options.description {
            Some(_) => None,
            None => doc::description(&input.attrs),
        };
        let mut model = Model {
            ident: input.ident.clone(),
            options,
            description,
            fields: Vec::new(),
            body: Body::Json,
            last_modified: None,
            is_struct: matches!(input.data, Data::Struct(_)),
        };
        match &input.data {
            Data::Struct(data) => model.read_fields(&data.fields, errors),
            Data::Enum(data) => errors.push_at(data.enum_token.span, "a resource is a struct; put the enum in a field"),
            Data::Union(data) => errors.push_at(data.union_token.span, "a resource is a struct"),
        }
        model
    }

    fn read_fields(&mut self, fields: &Fields, errors: &mut Errors) {
        for (field, member) in fields.iter().zip(fields.members()) {
            self.fields.extend(field.ident.clone().map(|ident| (ident, field.ty.clone())));
            for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("resource")) {
                self.read_field(&member, &field.ty, attr, errors);
            }
        }
    }

    fn read_field(&mut self, member: &Member, ty: &Type, attr: &Attribute, errors: &mut Errors) {
        const KEYS: [&str; 3] = ["text", "blob", "last_modified"];
        let Some(all) = errors.handle(attr.parse_args::<Entries>()) else { return };
        if let Some(literal) = all.positional {
            errors.push_spanned(literal, format!("a field takes no text here; {}", attr::list(&KEYS)));
        }
        for entry in all.entries {
            let (key, span) = (entry.key.to_string(), entry.key.span());
            let body_taken = !matches!(self.body, Body::Json);
            match &*key {
                _ if entry.value.is_some() && KEYS.contains(&&*key) => {
                    errors.push_at(span, format!("on a field it is just `{key}`"));
                }
                "text" | "blob" if body_taken => errors.push_at(span, "another field is the contents already"),
                "text" => self.body = Body::Text(member.clone(), ty.clone()),
                "blob" => self.body = Body::Blob(member.clone(), ty.clone()),
                "last_modified" => self.last_modified = Some((member.clone(), ty.clone())),
                _ => {
                    let hint = closest(&key, KEYS).map(|meant| format!("did you mean `{meant}`?"));
                    let hint = hint.unwrap_or_else(|| attr::list(&KEYS));
                    errors.push_at(span, format!("unknown key `{key}`; {hint}"));
                }
            }
        }
    }

    fn conversion(&self, errors: &mut Errors) -> TokenStream {
        let uri = self.uri(errors);
        let name = match &self.options.name {
            Some(Name::Literal(name)) => self.filled(name, false, errors),
            Some(Name::Constant(path)) => quote!(#path),
            None => snake_case(&self.ident.unraw().to_string()).to_token_stream(),
        };
        let title = self.options.title.as_ref().map(|title| self.filled(title, false, errors));
        let title = title.iter();
        let description = match &self.options.description {
            Some(text) => Some(self.filled(text, false, errors)),
            None => self.description.clone(),
        };
        let description = description.iter();
        let (icons, meta) = (&self.options.icons, self.options.meta.iter());
        let keys = resource_keys(&self.options);
        let last_modified = self.last_modified.iter().map(|(field, ty)| {
            let time = shown(field, ty);
            quote!(__builder.last_modified(&#time);)
        });
        let (mime, contents) = self.contents();
        let mime = self.options.mime.is_none().then(|| quote!(__builder.mime(#mime);));
        let size = matches!(self.options.size, Some((_, Size::Counted))).then(|| {
            quote! {
                if let ::core::option::Option::Some(__size) = __mcp::size_of_contents(&#contents) {
                    __builder.size(__size);
                }
            }
        });
        let sync = quote_spanned!(self.ident.span()=> sync);
        quote! {
            let mut __builder = __mcp::resource(&#uri, &#name);
            #(__builder.title(&#title);)*
            #(__builder.description(&#description);)*
            #(__builder.icon(#icons);)*
            #(__builder.meta(__mcp::json!({ #meta }));)*
            #keys
            #mime
            #(#last_modified)*
            #size
            let __returns = __mcp::resource_returns(&mut __builder);
            __builder.#sync(__returns, move |_, _| ::core::result::Result::Ok(#contents))
        }
    }

    fn contents(&self) -> (&'static str, TokenStream) {
        match &self.body {
            Body::Json => {
                let ident = &self.ident;
                ("application/json", quote!(__mcp::json_contents::<#ident>(&__value)))
            }
            Body::Text(field, ty) => ("text/plain", quote!(__mcp::text_contents::<#ty>(&__value.#field))),
            Body::Blob(field, ty) => ("application/octet-stream", quote!(__mcp::blob_contents::<#ty>(&__value.#field))),
        }
    }

    fn uri(&self, errors: &mut Errors) -> TokenStream {
        let Some(literal) = &self.options.uri else {
            if !self.options.broken {
                errors.push_at(self.ident.span(), "where is it? add `#[resource(uri = \"config://app\")]`");
            }
            return quote!("");
        };
        if let Some(problem) = uri::scheme_problem(&literal.value()) {
            errors.push_spanned(literal, problem);
        }
        self.filled(literal, true, errors)
    }

    /// An expression for the text with its `{field}`s filled in; percent-encoded in a URI.
    fn filled(&self, literal: &LitStr, in_uri: bool, errors: &mut Errors) -> TokenStream {
        let text = literal.value();
        if !text.contains(['{', '}']) {
            return literal.to_token_stream();
        }
        let parts = match uri::parse(&text) {
            Ok(parts) => parts,
            Err(problem) => {
                errors.push_spanned(literal, problem);
                return quote!("");
            }
        };
        let pieces: Vec<TokenStream> =
            parts.iter().map(|part| self.piece(part, literal.span(), in_uri, errors)).collect();
        quote!({
            let mut __text = ::std::string::String::new();
            #(#pieces)*
            __text
        })
    }

    /// The statement that appends a part to `__text`.
    fn piece(&self, part: &Part, span: Span, in_uri: bool, errors: &mut Errors) -> TokenStream {
        let (name, reserved) = match part {
            Part::Literal(text) => return quote!(__text.push_str(#text);),
            Part::Variable { name, reserved } => (name, reserved),
        };
        let Some((field, ty)) = self.fields.iter().find(|(field, _)| field.unraw() == name) else {
            self.not_a_field(name, span, errors);
            return TokenStream::new();
        };
        let value = shown(field, ty);
        if in_uri {
            quote!(__mcp::expand_into(&mut __text, &#value, #reserved);)
        } else {
            quote!(__text.push_str(&#value);)
        }
    }

    fn not_a_field(&self, variable: &str, span: Span, errors: &mut Errors) {
        let fields: Vec<String> = self.fields.iter().map(|(field, _)| field.unraw().to_string()).collect();
        let names: Vec<&str> = fields.iter().map(String::as_str).collect();
        let hint = match closest(variable, names.iter().copied()) {
            // The wrong kind of item is already reported.
            _ if !self.is_struct => return,
            Some(meant) => format!("did you mean `{{{meant}}}`?"),
            None if names.is_empty() => "the struct has no named fields".to_owned(),
            None => attr::list(&names),
        };
        errors.push_at(span, format!("`{{{variable}}}` is not a field; {hint}"));
    }
}

/// An expression for a field's value as text.
fn shown(field: &impl ToTokens, ty: &Type) -> TokenStream {
    quote!(__mcp::shown::<#ty>(&__value.#field))
}
